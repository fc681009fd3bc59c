# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a subject, as plain data. It knows no subject and no rule: NumPy and the ground only.

finding.py  findings and their occurrences, per file, and what a repair did
ignores.py  findings that somebody wants to keep as they are, and why
"""
