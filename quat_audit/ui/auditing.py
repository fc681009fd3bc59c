# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit of the open file in small slices, so that Blender stays alive; its result goes to `results`.

What is audited is a function that makes the slices: of actions here, of meshes in `ui/skin/auditing.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import bpy

from ..audit.pipeline import Judgement, judge, judge_in_slices
from ..audit.settings import Settings
from ..blender import compat, read, users
from ..blender.read import BlenderClip
from ..errors import GoneError, QuatAuditError, SkinError
from ..results.memory import RESULTS, Summary
from ..results.rows import ACTION, Address, AuditResult, Judged, clip_result
from ..text import Text
from . import preferences, properties, scope

# A slice of reading or of one rule may take as long as it takes; after it, Blender gets its turn when this much has
# been used.
BUDGET_SECONDS = 0.025

# An audit in slices: results go into the list, how much is done is yielded.
Work = Callable[[list[AuditResult]], Iterator[float]]


def address_of(record: BlenderClip) -> Address:
    return Address(record.action_uid, record.handle, record.layer, record.strip)


def audit_record(record: BlenderClip, settings: Settings) -> AuditResult:
    """Audit one clip at once."""
    return _result(record, judge(record.clip, settings))


def _result(record: BlenderClip, judgement: Judgement) -> AuditResult:
    action = scope.find_action(record.action_uid)
    library = action.library.filepath if action is not None and action.library is not None else ""
    return clip_result(address_of(record), record.clip, library, judgement)


class Job:
    """An audit that runs: `run` for a while, again and again, until `done`. Nothing is shown before `finish`.

    It holds Blender's pointers while it reads: whoever is about to change the file calls `abort`.
    """

    def __init__(
        self, work: Work, *, profile: str, scope_name: str, remark: Text | None = None, kind: Judged = ACTION
    ) -> None:
        self.profile, self.scope_name, self.remark, self.kind = profile, scope_name, remark, kind
        self.fraction = 0.0
        self.done = False
        self.why_aborted: Text | None = None
        self.found: list[AuditResult] = []
        self._slices: Iterator[float] | None = work(self.found)

    def run(self, seconds: float = BUDGET_SECONDS) -> None:
        """Work for about as long: at least one slice."""
        until = time.perf_counter() + seconds
        while self._slices is not None:
            try:
                self.fraction = next(self._slices)
            except StopIteration:
                self.done, self._slices, self.fraction = True, None, 1.0
            except (ReferenceError, GoneError, SkinError) as error:  # the first is Blender's word for what is removed
                why = error.why if isinstance(error, QuatAuditError) else str(error)
                self.abort(Text("The file changed while it was audited ({error})", {"error": why}))
            if time.perf_counter() >= until:
                break

    def abort(self, why: Text) -> None:
        """Stop and let go of everything."""
        if self._slices is not None:
            self._slices.close()  # type: ignore[attr-defined]  # a generator
            self._slices = None
            self.why_aborted = why

    @property
    def running(self) -> bool:
        return self._slices is not None

    def finish(self, context: Any) -> Summary:
        """Show what was found."""
        RESULTS.replace_all(
            self.found,
            kind=self.kind,
            profile=self.profile,
            scope=self.scope_name,
            file=bpy.data.filepath,
            message=self.remark or "",
        )
        properties.sync(properties.state(context))
        return RESULTS.summary((self.kind,))


def _action_slices(targets: scope.Targets, settings: Settings, into: list[AuditResult]) -> Iterator[float]:
    played_by = users.find_users()
    yield 0.0
    sizes = {uid: _size(uid) for uid in targets.uids}
    total = max(sum(sizes.values()), 1)
    begun = 0
    for uid in targets.uids:
        action = scope.find_action(uid)
        if action is None:
            continue
        share = sizes[uid] / total
        base = begun / total
        records: list[BlenderClip] = []
        # Reading and judging take about the same time.
        for done in read_slices(action, played_by, records):
            yield base + share * 0.5 * done
        records = [record for record in records if targets.counts(record)]
        for number, record in enumerate(records):
            judged: list[Judgement] = []
            for done in judge_in_slices(record.clip, settings, judged):
                yield base + share * (0.5 + 0.5 * (number + done) / len(records))
            into.append(_result(record, judged[0]))
            yield base + share * (0.5 + 0.5 * (number + 1) / len(records))
        begun += sizes[uid]


def read_slices(action: Any, played_by: Any, into: list[BlenderClip]) -> Iterator[float]:
    """Read an action in small slices; yields how much of it is read."""
    for done, total, clips in read.read_action_slices(action, played_by=played_by, slice_seconds=BUDGET_SECONDS / 2):
        into += clips
        yield done / max(total, 1)


def _size(uid: int) -> int:
    """About how much work an action is: its curves, whatever they hold."""
    action = scope.find_action(uid)
    if action is None:
        return 0
    return 1 + sum(len(curve_set.fcurves) for curve_set in compat.curve_sets(action))


# The audit that runs, so that whoever changes the file can stop it; there is never more than one.
RUNNING: list[Job] = []


def why_running() -> Text | None:
    """Why nothing else can be done while an audit runs."""
    return Text("An audit is running; Esc stops it") if RUNNING else None


def start(context: Any, scope_name: str, profile: str) -> Job:
    """Begin an audit. Raises NothingToAudit, with what to do, when there is nothing to audit."""
    targets = scope.targets(context, scope_name)
    if targets.why_none is not None:
        raise NothingToAudit(targets.why_none)
    return _job(context, targets, scope_name, profile)


def _job(context: Any, targets: scope.Targets, scope_name: str, profile: str) -> Job:
    settings = preferences.settings(profile, preferences.get_or_default(context))
    work = partial(_action_slices, targets, settings)
    return Job(work, profile=profile, scope_name=scope_name, remark=targets.remark)


class NothingToAudit(QuatAuditError):
    """There is nothing to audit."""


def audit_now(
    context: Any, actions: Sequence[Any] | None = None, scope_name: str = scope.FILE, profile: str = "game_export"
) -> Summary:
    """Audit at once, by the scope or exactly these actions, and show it in the panel.

    Raises: NothingToAudit.
    """
    if actions is None:
        job = start(context, scope_name, profile)
    else:
        targets = scope.Targets(tuple(action.session_uid for action in actions))
        job = _job(context, targets, scope.FILE, profile)
    while job.running:
        job.run(60.0)
    if job.why_aborted is not None:
        raise NothingToAudit(job.why_aborted)
    return job.finish(context)


def settings_of_results(context: Any, kind: Judged) -> Settings:
    """By what the findings that are shown, on actions or on meshes, were found."""
    return preferences.settings(RESULTS.profiles[kind], preferences.get_or_default(context))
