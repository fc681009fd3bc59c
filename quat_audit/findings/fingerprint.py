# SPDX-License-Identifier: GPL-3.0-or-later
"""A name for a finding that outlives its figures: for ignores, baselines, and what other tools keep of a report.

It is made of the rule, and of what the rule is about: action, slot and data path of a clip, or object and data path
of a skin. Frames, figures, severity and the file are no part of it: the same fault has the same name in the next run,
on another key, in another folder.
"""

from __future__ import annotations

import hashlib
import json

from .finding import Finding

# 64 bits: among a million findings the odds that two share a name are one in thirty million.
DIGITS = 16


def identity(finding: Finding) -> tuple[str, ...]:
    """(rule, what was judged, action or mesh, slot, data path)."""
    if finding.about == "skin":
        return (finding.code, finding.about, finding.owner, "", finding.data_path)
    return (finding.code, finding.about, finding.action, finding.slot, finding.data_path)


def fingerprint(finding: Finding) -> str:
    """16 hexadecimal digits. Stable over versions of quat_audit, Python and the machine."""
    # Names may hold any character, lone surrogates too: JSON tells where one ends and the next begins.
    text = json.dumps(identity(finding), ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:DIGITS]
