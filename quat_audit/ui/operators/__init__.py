# SPDX-License-Identifier: GPL-3.0-or-later
"""What is clicked in the tab, one noun a file: audit, fix, ignore, keys (Alt-F), navigate, report, skin."""
