# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: the only room that prints.

main.py       audit | fix | rules: options, the run over all inputs, exit codes
preview.py    the verb preview
terminal.py   standard output and error, progress
interrupt.py  Ctrl-C
"""
