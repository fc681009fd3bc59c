# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertex groups that something beside the bones uses: QA604 says nothing of them, and still all of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from tests.blender import skinned

Use = Callable[[Any, str], None]


def _cloth_pin(obj: Any, name: str) -> None:
    obj.modifiers.new("Cloth", "CLOTH").settings.vertex_group_mass = name


def _cloth_collisions(obj: Any, name: str) -> None:
    obj.modifiers.new("Cloth", "CLOTH").collision_settings.vertex_group_self_collisions = name


def _soft_body_goal(obj: Any, name: str) -> None:
    obj.modifiers.new("Soft", "SOFT_BODY").settings.vertex_group_goal = name


def _fluid_source(obj: Any, name: str) -> None:
    modifier = obj.modifiers.new("Fluid", "FLUID")
    modifier.fluid_type = "FLOW"
    modifier.flow_settings.density_vertex_group = name


def _nodes(obj: Any, kind: str, in_out: str) -> tuple[Any, str]:
    """A Geometry Nodes modifier with one socket of a kind beside the geometry, and what the socket is called."""
    tree = bpy.data.node_groups.new("Fuzz", "GeometryNodeTree")
    for side in ("INPUT", "OUTPUT"):
        tree.interface.new_socket("Geometry", in_out=side, socket_type="NodeSocketGeometry")
    socket = tree.interface.new_socket("Extra", in_out=in_out, socket_type=kind)
    given, result = tree.nodes.new("NodeGroupInput"), tree.nodes.new("NodeGroupOutput")
    tree.links.new(given.outputs[0], result.inputs[0])
    modifier = obj.modifiers.new("Nodes", "NODES")
    modifier.node_group = tree
    return modifier, socket.identifier


def _attribute_into_nodes(obj: Any, name: str) -> None:
    modifier, socket = _nodes(obj, "NodeSocketFloat", "INPUT")
    if hasattr(modifier, "properties"):  # 5.2
        given = getattr(modifier.properties.inputs, socket)
        given.type, given.attribute_name = "ATTRIBUTE", name
    else:
        modifier[f"{socket}_use_attribute"], modifier[f"{socket}_attribute_name"] = True, name


def _text_into_nodes(obj: Any, name: str) -> None:
    modifier, socket = _nodes(obj, "NodeSocketString", "INPUT")
    if hasattr(modifier, "properties"):
        getattr(modifier.properties.inputs, socket).value = name
    else:
        modifier[socket] = name


def _attribute_out_of_nodes(obj: Any, name: str) -> None:
    modifier, socket = _nodes(obj, "NodeSocketFloat", "OUTPUT")
    if hasattr(modifier, "properties"):
        getattr(modifier.properties.outputs, socket).attribute_name = name
    else:
        modifier[f"{socket}_attribute_name"] = name


def _constraint_of_an_object(obj: Any, name: str) -> None:
    follower = bpy.data.objects.new("Follower", None)
    bpy.context.scene.collection.objects.link(follower)
    constraint = follower.constraints.new("COPY_LOCATION")
    constraint.target, constraint.subtarget = obj, name


def _constraint_of_a_bone(obj: Any, name: str) -> None:
    constraint = obj.modifiers[0].object.pose.bones[0].constraints.new("DAMPED_TRACK")
    constraint.target, constraint.subtarget = obj, name


def _pole_of_ik(obj: Any, name: str) -> None:
    constraint = obj.modifiers[0].object.pose.bones[1].constraints.new("IK")
    constraint.pole_target, constraint.pole_subtarget = obj, name


def _shape_key(obj: Any, name: str) -> None:
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Smile").vertex_group = name


def _particles(obj: Any, name: str) -> None:
    obj.modifiers.new("Hair", "PARTICLE_SYSTEM")
    obj.particle_systems[0].vertex_group_density = name


def _modifier(obj: Any, name: str) -> None:
    obj.modifiers.new("Mask", "MASK").vertex_group = name


def _reported(use: Use | None) -> list[str]:
    obj, _ = skinned.make_tube()
    for name in ("Pin", "Gone"):
        obj.vertex_groups.new(name=name).add([0, 1, 2], 1.0, "REPLACE")
    if use is not None:
        use(obj, "Pin")
    names = [group.name for group in obj.vertex_groups]
    return [names[row] for f in api.audit_mesh(obj) if f.code == "QA604" for row in f.occurrences.rows]


def test_without_a_use_both_are_reported() -> None:
    assert _reported(None) == ["Pin", "Gone"]


@pytest.mark.parametrize(
    "use",
    [
        _cloth_pin,
        _cloth_collisions,
        _soft_body_goal,
        _fluid_source,
        _attribute_into_nodes,
        _text_into_nodes,
        _attribute_out_of_nodes,
        _constraint_of_an_object,
        _constraint_of_a_bone,
        _pole_of_ik,
        _shape_key,
        _particles,
        _modifier,
    ],
)
def test_what_something_uses_is_no_lost_bone(use: Use) -> None:
    assert _reported(use) == ["Gone"]


def test_a_use_by_another_mesh_does_not_count() -> None:
    def elsewhere(obj: Any, name: str) -> None:
        mesh = bpy.data.objects.new("Other", bpy.data.meshes.new("Other"))
        bpy.context.scene.collection.objects.link(mesh)
        _constraint_of_an_object(mesh, name)
        _cloth_pin(mesh, name)

    assert _reported(elsewhere) == ["Pin", "Gone"]


def test_a_modifier_without_nodes_is_read_all_the_same() -> None:
    assert _reported(lambda obj, name: obj.modifiers.new("Nodes", "NODES")) == ["Pin", "Gone"]
