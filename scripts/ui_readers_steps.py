# SPDX-License-Identifier: GPL-3.0-or-later
"""The UI test's steps about who plays the keys: what Fix All Safe leaves alone for whom, and the question before a fix
that is not safe.
"""

from __future__ import annotations

from collections.abc import Callable

import ui_scenes
from ui_driver import Hands, Turns
from ui_steps import active, audit, findings, keys, open_scene, results

WHY = "a keyed rotation of RigB would change by 70.8°"


def two_readers(hands: Hands) -> Turns:
    """Two rigs play one action in two Euler orders: a flip is repaired for both, a wrap only at the artist's word."""
    yield from open_scene(hands, "readers")
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    before = keys()
    yield from audit(hands)
    fixes = {(f.code, f.bone): f.fix for f in findings()}
    expected = {("QA104", "Flip"): "safe", ("QA201", "Wrap"): "unsafe"}
    hands.check("readers: the flip is safe to fix, the wrap is not", expected.items() <= fixes.items(), fixes)
    hands.need("readers: the Fix All Safe button is there", (yield from hands.press("quat_audit.fix_safe")))
    yield from hands.until(lambda: keys() != before, 10)
    safe = keys()
    changed = ui_scenes.bones_of({curve for curve in safe if safe[curve] != before.get(curve)})
    hands.check("readers: Fix All Safe leaves the wrap alone", changed == {"Flip"}, sorted(changed))
    said = str(results().message)
    hands.check("readers: it says what was left alone, and for whom", said.endswith(f"left alone: {WHY}"), said)
    yield from hands.picture("readers-left-alone")

    chosen = active()
    hands.need(
        "readers: the wrap is shown now, and for whom its fix is not safe", chosen.caution == WHY, chosen.caution
    )
    hands.need("readers: the Fix button is there", (yield from hands.press("quat_audit.fix_active")))
    yield from hands.turns(20)
    hands.check("readers: nothing changes before the question is answered", keys() == safe)
    hands.snap("readers-question")
    yield from hands.key("RET")
    hands.check("readers: Enter repairs it all the same", (yield from hands.until(lambda: keys() != safe, 10)))
    hands.check("readers: the change is measured and said", " 70.786°" in str(results().message), results().message)
    yield from hands.over()
    yield from hands.key("Z", ctrl=True)
    hands.check("readers: one Ctrl-Z takes it back", keys() == safe)


STEPS: tuple[Callable[[Hands], Turns], ...] = (two_readers,)
PICTURES: tuple[Callable[[Hands], Turns], ...] = ()
