# SPDX-License-Identifier: GPL-3.0-or-later
"""Skins that nothing can be shown of, and what is to be said of those that can."""

from __future__ import annotations

import numpy as np

from ..errors import SkinError
from ..skinning.skin import Motion, Skin, influences

# Names in a message.
MOST_NAMED = 5


def check(skin: Skin) -> None:
    """Raise SkinError for a skin that no bone deforms; the message says why and what to do."""
    if influences(skin).live.any():
        return
    inf = influences(skin)
    if not len(skin.groups):
        raise SkinError(f"{skin.mesh} has no vertex groups: give it weights (Object > Parent > Armature Deform)")
    if not np.any(skin.groups.bone >= 0):
        raise SkinError(
            f"no vertex group of {skin.mesh} has the name of a deforming bone of {skin.armature}: its groups are "
            f"{_named(skin.groups.names)}, its bones {_named(skin.bones.names)}; rename the groups, or choose the "
            "armature that they were made for"
        )
    if np.isnan(inf.weight).any():
        raise SkinError(
            f"the weights of {skin.mesh} are no numbers (NaN), so no vertex follows a bone: `quat_audit fix` removes "
            "such weights (QA608); then paint or assign them anew"
        )
    raise SkinError(
        f"all weights of {skin.mesh} on deforming bones of {skin.armature} are zero or missing: paint or assign them"
    )


def remarks(skin: Skin, motion: Motion) -> list[tuple[str, str]]:
    """(what, why) of what the figures leave out, or what who reads them should know."""
    found = list(skin.not_evaluated)
    inf = influences(skin)
    bad = int(np.count_nonzero(np.bincount(inf.vertex()[~np.isfinite(inf.weight)], minlength=len(skin))))
    if bad:
        found.append((skin.mesh, f"weights that are no numbers hold {_vertices(bad)} in place, as in Blender (QA608)"))
    bare = int(np.count_nonzero(~inf.live)) - bad
    if bare > 0:
        found.append((skin.mesh, f"missing weights hold {_vertices(bare)} in place (QA601)"))
    if np.linalg.det(motion.to_world[0, :3, :3]) < 0:
        found.append((skin.mesh, "its scale is negative: it is shown mirrored, as in the viewport"))
    if skin.read_only:
        found.append((skin.mesh, f"{skin.read_only}: shown as it is there, its weights are to be repaired there"))
    return list(dict.fromkeys(found))


def _vertices(number: int) -> str:
    return f"{number:,} {'vertex' if number == 1 else 'vertices'}"


def _named(names: tuple[str, ...]) -> str:
    some = ", ".join(names[:MOST_NAMED])
    return f"{some}, … ({len(names)})" if len(names) > MOST_NAMED else some
