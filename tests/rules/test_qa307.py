# SPDX-License-Identifier: GPL-3.0-or-later
"""QA307 action-without-slot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quat_audit.motion.clip import Clip
from quat_audit.motion.readers import Unbound, newly_bound
from quat_audit.rules.qa307_action_without_slot import RULE
from tests.clips import quaternion_clip, turns
from tests.contract import assert_contract
from tests.judging import audit_clip, repair_clip


def idle(owner: str = "Rig", by: str = "", slot: str = "", *, muted: bool = False, fits: bool = True) -> Unbound:
    return Unbound(owner=owner, by=by, slot=slot, muted=muted, number=0 if by else -1, fits=fits)


def clip_of(*unbound: Unbound) -> Clip:
    return replace(quaternion_clip([1, 10, 20], turns("Y", [0, 40, 90]), users=()), unbound=unbound)


# (who, class, severity, fix, the sentence)
FOUND = [
    (idle(), "dead", "error", "unsafe", "Rig has the action but none of its slots, so nothing plays"),
    (idle(fits=False), "dead", "error", "none", "none of its slots"),
    (idle(slot="Old"), "dead", "error", "unsafe", "bound to the slot 'Old', which has no curves"),
    (idle(by="Walk"), "dead", "error", "unsafe", "the strip 'Walk' of Rig has the action but none of its slots"),
    (idle(by="Walk", slot="Old"), "dead", "error", "unsafe", "the strip 'Walk' of Rig is bound to the slot 'Old'"),
    (idle(by="Walk", muted=True), "muted", "note", "unsafe", "the strip 'Walk' of Rig has the action"),
]


@pytest.mark.parametrize("who, kind, severity, fix, words", FOUND)
def test_found(who, kind, severity, fix, words):
    (finding,) = audit_clip(clip_of(who), [RULE])
    assert (finding.severity, finding.fix, finding.owner) == (severity, fix, "Rig")
    assert finding.occurrences.kind.tolist() == [kind]
    assert words in finding.message and finding.occurrences.frames.tolist() == [[1, 20]]


@pytest.mark.parametrize("unbound", [(), (replace(idle(), bound=True),)])
def test_who_plays_is_no_fault(unbound):
    assert audit_clip(clip_of(*unbound), [RULE]) == []


def test_one_finding_for_each_who_has_it():
    found = audit_clip(clip_of(idle(), idle(by="Walk"), idle("Other"), idle(by="Run", muted=True)), [RULE])
    assert {f.owner: len(f.occurrences) for f in found} == {"Rig": 3, "Other": 1}
    assert {f.data_path for f in found} == {"Rig.action_slot", "Other.action_slot"}


def test_safe_fixes_bind_nothing():
    clip = clip_of(idle())
    assert assert_contract(clip, RULE).subject is clip


def test_only_who_fits_is_bound_and_no_key_is_touched():
    clip = clip_of(idle(), idle("Other", fits=False), idle(by="Walk"))
    repair = assert_contract(clip, RULE, unsafe=True)
    after = repair.subject
    assert [one.bound for one in after.unbound] == [True, False, True]
    assert after.curves is clip.curves and after.tracks is clip.tracks
    assert [(one.owner, one.by) for one in newly_bound(clip, after)] == [("Rig", ""), ("Rig", "Walk")]
    assert [(a.code, a.tracks, a.keys_changed) for a in repair.applied] == [("QA307", 1, 1)]
    # The pose changes on purpose, and the report says whose.
    assert repair.proof.max_key_change_deg == 0.0
    assert repair.proof.not_measured == ("Rig: the action 'Action' plays now",) * 2


def test_one_that_was_bound_is_not_found_again():
    after = repair_clip(clip_of(idle()), [RULE], unsafe=True).subject
    assert audit_clip(after, [RULE]) == []
