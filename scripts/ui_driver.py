# SPDX-License-Identifier: GPL-3.0-or-later
"""The hands and eyes of the UI test, within Blender: mouse, keys, finding a button, pictures, time between redraws.

Everything that takes Blender's attention is a generator: `yield` gives Blender one turn of its main loop.

A button is found the way a person finds it: the mouse goes over the region until Blender itself says that this
button is under it (its own "Copy Python Command" works on the button that is lit). So nothing here knows the layout.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import bpy

Turns = Generator[None, None, Any]
CATEGORY = "Rig Audit"
_ROW = 16  # pixels between two looks; a button is 20 high
_EDGE = 14  # pixels above the lower edge of a region, where a click may be Blender's own
_PAGE = 6  # turns of the wheel from one part of the sidebar to the next
_COLUMNS = (0.5, 0.25, 0.92)  # of the region's width, then every _FINE pixels for small buttons
_FINE = 14


class Stuck(Exception):
    """The session cannot go on: what follows would make no sense."""


class Hands:
    """One session in one Blender window."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.plan = plan
        # Everything is tried in one language; in the others what is said and shown, that is, what differs.
        self.thorough = plan["language"] == "en_US"
        self.output = Path(plan["output"])
        self._record = open(plan["record"], "a", encoding="utf-8")  # noqa: SIM115 - open as long as Blender runs
        self.at = (0, 0)
        # (editor, what was lit) → how many pages down, and where. What was looked for once is not searched again.
        self._seen: dict[tuple[str, str], tuple[int, tuple[int, int]]] = {}
        self._page: dict[str, int] = {}

    # --- what is said

    def check(self, what: str, ok: bool, detail: object = "") -> bool:
        """One line of the result; the session goes on either way."""
        self.write({"check": what, "ok": bool(ok), "detail": str(detail) if detail or detail == 0 else ""})
        return bool(ok)

    def need(self, what: str, ok: bool, detail: object = "") -> None:
        """The same for what everything else rests on."""
        if not self.check(what, ok, detail):
            raise Stuck(what)

    def write(self, row: dict[str, Any]) -> None:
        # At once: a Blender that crashes has said what it had found.
        self._record.write(json.dumps(row) + "\n")
        self._record.flush()

    # --- what there is

    @property
    def window(self) -> Any:
        return bpy.data.window_managers[0].windows[0]

    def area(self, kind: str = "VIEW_3D") -> Any:
        """The largest area of a kind."""
        found = [area for area in self.window.screen.areas if area.type == kind]
        if not found:
            raise Stuck(f"no {kind} on the screen")
        return max(found, key=lambda area: area.width * area.height)

    def region(self, kind: str = "VIEW_3D", part: str = "UI") -> Any:
        return next(region for region in self.area(kind).regions if region.type == part)

    def override(self, kind: str = "VIEW_3D", part: str = "UI") -> Any:
        return bpy.context.temp_override(window=self.window, area=self.area(kind), region=self.region(kind, part))

    # --- time

    def turns(self, count: int) -> Turns:
        for _ in range(count):
            yield

    def settle(self) -> Turns:
        """Until what was asked for is done and drawn."""
        yield from self.turns(6)

    def until(self, condition: Callable[[], bool], seconds: float) -> Turns:
        """Wait for a condition; whether it came true."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            yield
        return True

    # --- mouse and keys

    def move(self, x: int, y: int) -> Turns:
        self.at = (int(x), int(y))
        self.window.event_simulate("MOUSEMOVE", "NOTHING", x=self.at[0], y=self.at[1])
        yield

    def send(self, name: str, value: str) -> None:
        """One event where the mouse is, at Blender's next turn."""
        self.window.event_simulate(name, value, x=self.at[0], y=self.at[1])

    def click(self, x: int | None = None, y: int | None = None) -> Turns:
        if x is not None and y is not None:
            yield from self.move(x, y)
        for value in ("PRESS", "RELEASE"):
            self.send("LEFTMOUSE", value)
            yield
        yield from self.settle()

    def key(self, name: str, *, ctrl: bool = False, shift: bool = False, alt: bool = False) -> Turns:
        """A key where the mouse is."""
        for value in ("PRESS", "RELEASE"):
            self.window.event_simulate(
                name, value, x=self.at[0], y=self.at[1], ctrl=ctrl, shift=shift, alt=alt
            )  # fmt: skip
            yield
        yield from self.settle()

    def wheel(self, down: bool, steps: int) -> Turns:
        # All in one turn: Blender answers each, and draws once.
        for _ in range(steps):
            self.send("WHEELDOWNMOUSE" if down else "WHEELUPMOUSE", "PRESS")
        yield

    def over(self, kind: str = "VIEW_3D") -> Turns:
        """The mouse into an editor, away from buttons."""
        window = self.region(kind, "WINDOW")
        yield from self.move(window.x + window.width // 3, window.y + window.height // 3)

    # --- the sidebar

    def open_sidebar(self, kind: str = "VIEW_3D") -> Turns:
        """N, then the tab: as a person does it. Whether the tab is in front."""
        yield from self.over(kind)
        if not self.area(kind).spaces.active.show_region_ui:
            yield from self.key("N")
            yield from self.until(lambda: self.area(kind).spaces.active.show_region_ui, 5)
            yield from self.turns(10)
        region = self.region(kind)
        x, y = region.x + region.width - 8, region.y + region.height - 20
        while region.active_panel_category != CATEGORY and y > region.y:
            yield from self.click(x, y)
            y -= 20
        yield from self.settle()
        return region.active_panel_category == CATEGORY

    def command_under_mouse(self, kind: str) -> str:
        """The Python command of the operator button that is lit, "" for none."""
        manager = bpy.data.window_managers[0]
        manager.clipboard = ""
        with self.override(kind):
            if bpy.ops.ui.copy_python_command_button.poll():
                bpy.ops.ui.copy_python_command_button()
        return str(manager.clipboard)

    def property_under_mouse(self, kind: str) -> str:
        """The path of the property that is lit, "" for none."""
        manager = bpy.data.window_managers[0]
        manager.clipboard = ""
        with self.override(kind):
            if bpy.ops.ui.copy_data_path_button.poll():
                bpy.ops.ui.copy_data_path_button(full_path=True)
        return str(manager.clipboard)

    def find(self, pattern: str, kind: str = "VIEW_3D", *, anew: bool = False) -> Turns:
        """Move the mouse onto the button whose command (or property) matches; whether there is one.

        Looks where it was met before (unless it is to be looked for anew), then at all that is seen, from the top,
        then scrolls the sidebar down, as one would.
        """
        if not anew and (yield from self._find_again(pattern, kind)):
            return True
        yield from self._scroll(kind, down=False)
        while True:
            for x in self._columns(kind):
                if (yield from self._look(pattern, kind, x)):
                    return True
            if not (yield from self._scroll(kind, down=True)):
                break
        # A small button may stand between the columns.
        yield from self._scroll(kind, down=False)
        region = self.region(kind)
        for x in range(region.x + 12, region.x + region.width - 24, _FINE):
            if (yield from self._look(pattern, kind, x)):
                return True
        return False

    def _find_again(self, pattern: str, kind: str) -> Turns:
        """Move to where it was met the last time; whether it is still there."""
        places = [place for (k, lit), place in self._seen.items() if k == kind and re.search(pattern, lit)]
        if not places:
            return False
        page, at = places[-1]
        for scrolls in (False, True):
            if scrolls:
                yield from self._scroll(kind, down=False)
                while self._page.get(kind, 0) < page and (yield from self._scroll(kind, down=True)):
                    pass
            yield from self.move(*at)
            if (yield from self._stays_lit(pattern, kind)):
                return True
        return False

    def _columns(self, kind: str) -> list[int]:
        region = self.region(kind)
        return [int(region.x + (region.width - 20) * part) for part in _COLUMNS]

    def _scroll(self, kind: str, *, down: bool) -> Turns:
        """Scroll the sidebar a page down, or to its top; whether it moved."""
        region = self.region(kind)
        before = region.view2d.region_to_view(0, 0)
        if not down:
            self._page[kind] = 0
            if region.view2d.region_to_view(0, region.height)[1] > -1.0:
                return False
        yield from self.move(region.x + 4, region.y + region.height // 2)
        yield from self.wheel(down, _PAGE if down else 5 * _PAGE)
        yield from self.settle()
        moved = self.region(kind).view2d.region_to_view(0, 0) != before
        self._page[kind] = self._page.get(kind, 0) + (down and moved)
        return moved

    def _look(self, pattern: str, kind: str, x: int) -> Turns:
        region = self.region(kind)
        for y in range(region.y + region.height - 6, region.y + _EDGE, -_ROW):
            yield from self.move(x, y)
            if self.is_lit(pattern, kind):
                # On a busy machine Blender is a turn behind: what is lit is where the mouse was then.
                for place in (y, y + _ROW):
                    yield from self.move(x, place)
                    if (yield from self._stays_lit(pattern, kind)):
                        return True
        return False

    def _stays_lit(self, pattern: str, kind: str) -> Turns:
        """Whether the button that is lit when all has come to rest is the one."""
        yield from self.settle()
        return self.is_lit(pattern, kind)

    def is_lit(self, pattern: str, kind: str) -> bool:
        """Whether the button under the mouse has a command (or property) that matches."""
        lit = self.command_under_mouse(kind) or self.property_under_mouse(kind)
        if lit:
            self._seen.pop((kind, lit), None)  # the last one met is the last of all
            self._seen[kind, lit] = (self._page.get(kind, 0), self.at)
        return re.search(pattern, lit) is not None

    def press(self, operator: str, kind: str = "VIEW_3D") -> Turns:
        """Find the button of an operator and click it; whether there is one."""
        found = yield from self.find(rf"^bpy\.ops\.{re.escape(operator)}\b", kind)
        if found:
            yield from self.click()
        return found

    # --- pictures

    def picture(self, name: str, kind: str = "VIEW_3D") -> Turns:
        """DIR/name-LANGUAGE.png of the whole window: the sidebar from its top, no tooltip in the way."""
        yield from self._scroll(kind, down=False)
        yield from self.over()
        # The status bar's report and a fading button take a moment; the picture shows the end of it.
        yield from self.turns(40)
        self.snap(name)

    def snap(self, name: str) -> None:
        """The same at once, of whatever is seen."""
        path = self.output / f"{name}-{self.plan['language']}.png"
        path.unlink(missing_ok=True)
        if self.plan["virtual_screen"]:
            subprocess.run(["import", "-window", "root", str(path)], check=True, timeout=60)
        else:
            with bpy.context.temp_override(window=self.window):
                bpy.ops.screen.screenshot(filepath=str(path))
        size = path.stat().st_size if path.is_file() else 0
        # A black picture of this size has about 2,000 bytes.
        self.check(f"picture {path.name}", size > 20_000, f"{size:,} bytes")


class Redraws:
    """When the 3D Viewport was drawn: the longest time between two redraws says whether the window is alive.

    On the clock, and in processor time of Blender's main thread: that does not count what other programs take.
    """

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._times: list[tuple[float, float]] = []
        self._handle: Any = None
        # A bound method is another object each time it is asked for: Blender must get the same one back.
        self._timer = self._ask

    def __enter__(self) -> Redraws:
        self._handle = bpy.types.SpaceView3D.draw_handler_add(self._drawn, (), "WINDOW", "POST_PIXEL")
        bpy.app.timers.register(self._timer)
        self._drawn()
        return self

    def __exit__(self, *_: object) -> None:
        self._drawn()
        bpy.types.SpaceView3D.draw_handler_remove(self._handle, "WINDOW")
        bpy.app.timers.unregister(self._timer)

    def _drawn(self) -> None:
        self._times.append((time.perf_counter(), time.thread_time()))

    def _ask(self) -> float:
        # Blender draws what was tagged; asking all the time makes a pause visible as a pause.
        self._hands.region(part="WINDOW").tag_redraw()
        return 0.01

    def longest(self) -> tuple[float, float]:
        """(seconds on the clock, seconds of processor time)."""
        pairs = list(zip(self._times, self._times[1:], strict=False))
        return max(b[0] - a[0] for a, b in pairs), max(b[1] - a[1] for a, b in pairs)

    def seconds(self) -> float:
        """From the first to the last."""
        return self._times[-1][0] - self._times[0][0]
