# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules, one file each. RULES is explicit: a new rule is its file and one line here.

A rule sees a Clip or a PosedSkin only: it imports them, the views and edits of them, and the maths, never Blender or a
file format. Beside the rules stand what several of them need:

rule.py           what a rule offers
grouping.py       arrays of faults -> findings on tracks and paths; skin_findings.py the same for meshes and joints
euler_steps.py    which Euler steps take the long way, and the nearest representation (QA201, QA203)
spin_or_wrap.py   what is meant and what is an accident of the numbers (QA201, QA205)
showing.py        whether a fault between two keys is seen, by the frames that are drawn (QA104, QA201 and others)
detours.py        steps that handles or easing take off the way between their keys (QA105, QA403)
bridging.py       values for keys that have none (QA101, QA102)
slerp_keys.py     keys on the short way between two keys (QA105, QA204)
"""

from __future__ import annotations

from importlib import import_module

from .rule import AnyRule, Limits, Rule

_MODULES = (
    "qa101_non_finite_key",
    "qa102_zero_length_quaternion",
    "qa103_non_unit_quaternion",
    "qa104_sign_flip",
    "qa105_collapsing_interpolation",
    "qa106_half_turn_step",
    "qa201_euler_wraparound",
    "qa203_full_turn",
    "qa204_long_way_round",
    "qa205_axis_angle_detour",
    "qa301_ignored_rotation_channel",
    "qa302_missing_component",
    "qa303_misaligned_components",
    "qa304_duplicate_rotation_channels",
    "qa305_orphan_channel",
    "qa307_action_without_slot",
    "qa308_ignored_location_channel",
    "qa401_unordered_key_times",
    "qa403_tangent_overshoot",
    "qa601_unweighted_vertex",
    "qa602_weights_not_normalised",
    "qa603_too_many_influences",
    "qa604_group_without_bone",
    "qa605_volume_collapse",
    "qa606_preserve_volume_lost",
    "qa607_scaled_dual_quaternion",
    "qa608_bad_weight",
)

RULES: tuple[AnyRule, ...] = tuple(import_module(f"{__name__}.{module}").RULE for module in _MODULES)

__all__ = ["RULES", "AnyRule", "Limits", "Rule"]
