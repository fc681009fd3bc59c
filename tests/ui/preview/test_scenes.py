# SPDX-License-Identifier: GPL-3.0-or-later
"""The preview beside a window that shows another scene: each says what holds for itself, and nothing is read anew."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from tests.blender import skinned

pytestmark = pytest.mark.usefixtures("panel")
ELSEWHERE = "Tube is not in the view layer"


def seen_from(scene: Any, pointer: int) -> Any:
    """What an editor in a window on a scene gives while it is drawn."""
    return SimpleNamespace(
        scene=scene,
        view_layer=scene.view_layers[0],
        area=SimpleNamespace(as_pointer=lambda: pointer),
        window_manager=bpy.context.window_manager,
    )


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_another_scene_in_another_window(scale: float) -> None:
    from quat_audit.ui.preview import state as preview

    obj, rig = skinned.make_tube()
    skinned.animate(rig, 160.0)
    bpy.context.view_layer.objects.active = obj
    other = bpy.data.scenes.new("Other")
    other.unit_settings.scale_length = scale
    assert bpy.ops.quat_audit.preview() == {"FINISHED"}
    held = preview.current()
    here, there = seen_from(bpy.context.scene, 1), seen_from(other, 2)
    for _ in range(2):
        assert preview.posed(here) is not None
        assert preview.posed(there) is None
        assert not any(ELSEWHERE in remark for remark in held.remarks_in(here.area))
        (said,) = held.remarks_in(there.area)
        assert ELSEWHERE in said
        assert not held.stale
    other.collection.objects.link(obj)
    other.collection.objects.link(rig)
    other.view_layers[0].update()
    other.unit_settings.scale_length = 1.0
    assert preview.posed(there) is not None
    assert not any(ELSEWHERE in remark for remark in held.remarks_in(there.area))
