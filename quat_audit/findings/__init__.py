# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a subject, as plain data. It knows no subject and no rule: NumPy and the ground only.

finding.py      a finding, its places, and the words for them
fingerprint.py  a name for a finding that outlives its figures
ignores.py      findings that somebody wants to keep as they are, and why
report.py       a run: its files, their findings, and what a repair did
"""
