# SPDX-License-Identifier: GPL-3.0-or-later
"""Within the Blender of scripts/test_ui.py: run the steps of ui_steps.py, a turn of the main loop at a time.

blender --enable-event-simulate … --python scripts/ui_session.py -- PLAN      (PLAN: JSON, see test_ui.py)
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy

sys.path.insert(0, str(Path(__file__).resolve().parent))

import ui_comparison_steps
import ui_driver
import ui_hostile_preview_steps
import ui_preview_steps
import ui_readers_steps
import ui_skin_steps
import ui_steps

PARTS = (ui_steps, ui_readers_steps, ui_skin_steps, ui_preview_steps, ui_comparison_steps, ui_hostile_preview_steps)

_TURN = 0.005  # seconds between two turns: Blender draws and answers events in between
# A file with no screens of its own leaves the window as it is, but Blender drops timers unless told otherwise.
_PERSISTENT = True


def _steps(thorough: bool) -> list[Callable[[ui_driver.Hands], ui_driver.Turns]]:
    """All of them, or those that say something in every language."""
    steps = [step for part in PARTS for step in part.STEPS]
    pictures = [step for part in PARTS for step in part.PICTURES]
    return [step for step in steps if thorough or step in pictures]


def _all(hands: ui_driver.Hands) -> ui_driver.Turns:
    """Every step, each by itself: one that gets stuck does not hide the others."""
    known = {"", *(step.__name__ for part in PARTS for step in part.STEPS)}
    if hands.plan["only"] not in known:
        hands.check(f"there is a step {hands.plan['only']}", False)
    for step in _steps(hands.thorough):
        name = step.__name__
        if hands.plan["only"] not in ("", name):
            continue
        hands.write({"step": name})
        start, start_cpu = time.perf_counter(), time.process_time()
        try:
            yield from step(hands)
        except ui_driver.Stuck as stuck:
            hands.check(f"{name} went on to its end", False, stuck)
        except Exception:  # noqa: BLE001 - whatever it is, it is this step's failure
            hands.check(f"{name} without an error in the test itself", False, traceback.format_exc()[-1500:])
        # Processor time counts the threads that draw; far below the clock, the step waited or others had the machine.
        hands.write(
            {"took": name, "seconds": time.perf_counter() - start, "processor": time.process_time() - start_cpu}
        )
    hands.write({"finished": True})


def _prepare(language: str, smooth: bool) -> None:
    preferences = bpy.context.preferences
    preferences.view.show_splash = False
    preferences.view.use_save_prompt = False
    preferences.view.language = language
    preferences.view.use_translate_interface = True
    preferences.view.use_translate_tooltips = True
    # Panels fold and lists scroll at once.
    preferences.view.smooth_view = 0
    # Smooth edges are eight drawings more after each change, which take most of the time where a processor draws.
    preferences.system.viewport_aa = "8" if smooth else "OFF"


def main() -> None:
    plan: dict[str, Any] = json.loads(sys.argv[sys.argv.index("--") + 1])
    _prepare(plan["language"], plan["smooth"])
    hands = ui_driver.Hands(plan)
    turns = _all(hands)

    def turn() -> float | None:
        try:
            next(turns)
            return _TURN
        except StopIteration:
            _end(0)
        except BaseException:  # noqa: BLE001 - Blender must end, or nobody would know
            traceback.print_exc()
            _end(4)
        return None

    # The first turns are for Blender to draw its window.
    bpy.app.timers.register(turn, first_interval=1.0, persistent=_PERSISTENT)


def _end(code: int) -> None:
    # Not wm.quit_blender: from a timer it has no window to ask, and what it would save is thrown away.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
