# SPDX-License-Identifier: GPL-3.0-or-later
"""The shader that skins: linear and dual quaternion blending, the figures of a heat map, and its colors.

What it computes is `skinning/linear.py`, `dual_quaternion.py` (Blender's rule of signs) and `heat.py` for one vertex;
its tables are those of `skinning/shader_tables.py`. Written for OpenGL, Vulkan and Metal alike: plain float attributes,
sampled tables, and no more than 128 bytes of values a draw.
"""

from __future__ import annotations

from math import tan
from typing import Any

import gpu

from ...skinning.heat import RAMP
from ...skinning.joints import LEAST_TURN
from ...skinning.shader_tables import BONE_ROWS, OBJECT_ROWS, WIDTH

LBS, DQS = 0, 1  # `choice.x`
PLAIN = 0  # `choice.y`: no heat map, or 1 + the number of one in heat.KINDS

_VERTEX = """
#define FETCHED(table, row) texelFetch(table, ivec2((row) % WIDTH, (row) / WIDTH), 0)

vec3 by_rows(int first, vec4 p)
{
  return vec3(dot(FETCHED(transforms, first), p), dot(FETCHED(transforms, first + 1), p),
              dot(FETCHED(transforms, first + 2), p));
}
int bone_row(float bone) { return OBJECT_ROWS + BONE_ROWS * int(bone + 0.5); }
vec3 turned(vec4 q, vec3 p) { return p + 2.0 * cross(q.yzw, cross(q.yzw, p) + q.x * p); }
float figure(float value) { return (value >= 0.0 && value < 1e30) ? value : 0.0; }

/* How much less of the cross-section of its joint the one way leaves the point than the other, in percent. */
float lost(int joint, vec3 one, vec3 other)
{
  vec4 names = FETCHED(joints, 2 * joint);
  vec4 rest = vec4(FETCHED(joints, 2 * joint + 1).xyz, 1.0);
  int below = bone_row(names.x), above = bone_row(names.y);
  vec3 pivot = 0.5 * (by_rows(below, rest) + by_rows(above, rest));
  vec4 a = FETCHED(transforms, above + 3), b = FETCHED(transforms, below + 3);
  float w = dot(a, b);
  vec3 v = a.x * b.yzw - b.x * a.yzw - cross(b.yzw, a.yzw);
  float sine = length(v);
  if (sine < LEAST_TANGENT * abs(w) || sine == 0.0) {
    return 0.0;
  }
  vec3 axis = v / sine;
  vec3 p = by_rows(0, vec4(one, 1.0)) - pivot, r = by_rows(0, vec4(other, 1.0)) - pivot;
  float of_p = dot(p, p) - dot(p, axis) * dot(p, axis), of_r = dot(r, r) - dot(r, axis) * dot(r, axis);
  if (!(of_r > FETCHED(transforms, 6).w)) {
    return 0.0;
  }
  return min(figure(100.0 * (1.0 - of_p / of_r)), 100.0);
}

vec3 ramp(float part)
{
  float at = clamp(part, 0.0, 1.0) * RAMP_STEPS;
RAMP_BODY
  return found;
}

void main()
{
  vec4 here = vec4(by_rows(0, vec4(pos, 1.0)), 1.0);
  vec3 moved = vec3(0.0), moved_cut = vec3(0.0), d = vec3(0.0);
  vec4 q = vec4(0.0);
  float d0 = 0.0;
  int start = int(rows.x + 0.5) + WIDTH * int(rows.y + 0.5), count = int(rows.z + 0.5);
  for (int i = 0; i < count; i++) {
    vec4 influence = FETCHED(influences, start + i);
    int row = bone_row(influence.x);
    vec3 there = by_rows(row, here);
    vec4 real = FETCHED(transforms, row + 3);
    moved += influence.y * (there - here.xyz);
    moved_cut += influence.z * (there - here.xyz);
    /* In the hemisphere of the sum of those before it. */
    float weight = dot(real, q) < 0.0 ? -influence.y : influence.y;
    vec3 t = there - turned(real, here.xyz);
    q += weight * real;
    d0 -= 0.5 * weight * dot(t, real.yzw);
    d += 0.5 * weight * (real.x * t + cross(t, real.yzw));
  }
  vec3 lbs = pos, dqs = pos, fewer = pos;
  if (limits.y > 0.5) {
    vec3 p = here.xyz, r = q.yzw;
    vec3 u = cross(r, p) + q.x * p + d;
    vec3 by_dual = 2.0 * (cross(r, u) + q.x * d - d0 * r) / dot(q, q);
    lbs += limits.x * by_rows(3, vec4(moved, 0.0));
    dqs += limits.x * by_rows(3, vec4(by_dual, 0.0));
  }
  if (limits.z > 0.5) {
    fewer += limits.x * by_rows(3, vec4(moved_cut, 0.0));
  }
  int kind = int(choice.y + 0.5);
  color = tint.rgb;
  if (kind != 0) {
    float value = 0.0;
    if (kind == 1) {
      value = figure(length(by_rows(6, vec4(lbs - dqs, 0.0))));
    }
    else if (kind == 2) {
      value = rows.w < -0.5 ? 0.0 : lost(int(rows.w + 0.5), lbs, dqs);
    }
    else {
      value = figure(length(by_rows(6, vec4(lbs - fewer, 0.0))));
    }
    color = ramp(look.y > 0.0 ? value / look.y : 0.0);
  }
  place = int(choice.x + 0.5) == 0 ? lbs : dqs;
  gl_Position = clip * vec4(place, 1.0);
}
"""

_FRAGMENT = """
void main()
{
  /* A lamp at the viewer, each face flat: `choice.zw` is its direction in the mesh's space (either side is lit). */
  vec3 normal = cross(dFdx(place), dFdy(place));
  vec3 lamp = vec3(choice.zw, sqrt(max(0.0, 1.0 - dot(choice.zw, choice.zw))));
  float size = length(normal);
  float lit = size > 0.0 ? abs(dot(normal, lamp)) / size : 1.0;
  vec3 shown = color * mix(1.0, 0.35 + 0.65 * lit, look.x);
  if (srgbTarget) {
    /* The buffer takes linear light: Blender sets this, as for its own shaders. */
    shown = mix(shown / 12.92, pow((shown + 0.055) / 1.055, vec3(2.4)), step(vec3(0.04045), shown));
  }
  result = vec4(shown, tint.a);
}
"""


def _with_ramp(source: str) -> str:
    points = [f"vec3({', '.join(f'{value:.6f}' for value in rgb)})" for rgb in RAMP]
    body = [f"  vec3 found = {points[0]};"]
    body += [f"  found = mix(found, {point}, clamp(at - {n}.0, 0.0, 1.0));" for n, point in enumerate(points[1:])]
    return source.replace("RAMP_BODY", "\n".join(body))


def compile_shader() -> Any:
    """The shader, compiled.

    Raises:
        Exception: this graphics card or driver cannot.
    """
    info = gpu.types.GPUShaderCreateInfo()
    info.vertex_in(0, "VEC3", "pos")
    info.vertex_in(1, "VEC4", "rows")
    info.vertex_in(2, "VEC3", "limits")
    info.push_constant("MAT4", "clip")
    info.push_constant("VEC4", "tint")  # red, green, blue, opacity
    info.push_constant("VEC4", "look")  # strength of the lamp, top of the scale, unused
    info.push_constant("VEC4", "choice")  # method, heat map, x and y of the lamp's direction
    info.push_constant("BOOL", "srgbTarget")  # Blender looks for this name and sets it
    info.sampler(0, "FLOAT_2D", "influences")
    info.sampler(1, "FLOAT_2D", "joints")
    info.sampler(2, "FLOAT_2D", "transforms")
    passed = gpu.types.GPUStageInterfaceInfo("quat_audit_skin")
    passed.smooth("VEC3", "color")
    passed.smooth("VEC3", "place")
    info.vertex_out(passed)
    info.fragment_out(0, "VEC4", "result")
    for name, value in (
        ("WIDTH", str(WIDTH)),
        ("OBJECT_ROWS", str(OBJECT_ROWS)),
        ("BONE_ROWS", str(BONE_ROWS)),
        ("RAMP_STEPS", f"{len(RAMP) - 1}.0"),
        ("LEAST_TANGENT", f"{tan(LEAST_TURN / 2.0):.9f}"),
    ):
        info.define(name, value)
    info.vertex_source(_with_ramp(_VERTEX))
    info.fragment_source(_FRAGMENT)
    return gpu.shader.create_from_info(info)
