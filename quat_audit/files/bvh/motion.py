# SPDX-License-Identifier: GPL-3.0-or-later
"""The motion block of a BVH file: its bytes to numbers, and numbers back into just the bytes at fault.

The block is one text row a frame, one number a channel. `numpy.fromstring` reads it in a single call; everything
else here (rows counted, words that are no numbers) works on the bytes as an array, so that the reading of a long
file costs what the conversion of its numbers costs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...arrays import Ints
from ...errors import InputError

Floats64 = npt.NDArray[np.float64]

# What exporters write where there is no number. Infinity too is no angle: all are read as NaN.
_NOT_FINITE = re.compile(rb"[-+]?(nan(\(\w*\))?|inf|infinity|\d*\.?\d*#(ind|inf|qnan|snan)\d*)", re.IGNORECASE)
_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
_PLAIN = re.compile(rb"[-+]?\d+(\.(\d*))?")

_SPACES = b" \t\n\r\v\f"
_IS_SPACE = np.zeros(256, dtype=bool)
_IS_SPACE[list(_SPACES)] = True
_IS_ODD = np.ones(256, dtype=bool)  # in no word that is a plain number
_IS_ODD[list(_SPACES + b"0123456789+-.eE")] = False


def parse_motion(block: bytes, channels: int, first_line: int) -> Floats64:
    """The numbers of a motion block.

    Args:
        block: the bytes after the "Frame Time:" line.
        channels: how many numbers a row must have.
        first_line: the file's line number of the block's first line, for messages.

    Returns:
        (F, channels) in the file's own units (degrees for rotations), NaN where the file has no finite number.

    Raises:
        InputError: a row with too few or too many values, or a word that is no number; names the line.
    """
    text = np.frombuffer(block, dtype=np.uint8)
    starts, ends = token_spans(block)
    _check_rows(text, starts, channels, first_line)
    odd = np.unique(np.searchsorted(starts, np.flatnonzero(_IS_ODD[text]), side="right") - 1)
    absent = _not_finite(block, starts, ends, odd, first_line)
    if len(absent):
        blanked = text.copy()
        for token in absent:
            blanked[starts[token] : ends[token]] = ord(" ")
        blanked[starts[absent]] = ord("0")
        block = blanked.tobytes()
    values = _convert(block)
    if values is None or len(values) != len(starts):
        # Something like "1.2.3" or "1-2": only now is it worth to look at each word.
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            if not _NUMBER.fullmatch(block[start:end]):
                raise _no_number(block, start, end, first_line)
        raise InputError(f"line {first_line}: the motion values cannot be read as numbers; export the file again")
    values[absent] = np.nan
    values[~np.isfinite(values)] = np.nan  # "1e999"
    return values.reshape(-1, channels) if channels else np.zeros((0, 0))


def token_spans(block: bytes) -> tuple[Ints, Ints]:
    """Where each word of the block starts and ends: two (N,) arrays of byte positions."""
    space = np.ones(len(block) + 2, dtype=bool)
    space[1:-1] = _IS_SPACE[np.frombuffer(block, dtype=np.uint8)]
    edges = np.flatnonzero(space[1:] != space[:-1])
    return edges[0::2], edges[1::2]


def splice(block: bytes, tokens: Sequence[int], texts: Sequence[bytes]) -> bytes:
    """The block with some of its words (numbers rising) replaced and every other byte as it was."""
    starts, ends = token_spans(block)
    pieces, done = [], 0
    for token, text in zip(tokens, texts, strict=True):
        pieces += [block[done : starts[token]], text]
        done = int(ends[token])
    pieces.append(block[done:])
    return b"".join(pieces)


def number_text(value: float, was: bytes, tolerance: float) -> bytes:
    """A number written as the word it replaces was: with as many decimals, when that is within the tolerance."""
    plain = _PLAIN.fullmatch(was)
    decimals = len(plain[2] or b"") if plain else 6
    rounded = f"{value:.{decimals}f}"
    text = rounded if abs(float(rounded) - value) <= tolerance else repr(float(value))
    return text.encode("ascii")


def _check_rows(text: npt.NDArray[np.uint8], starts: Ints, channels: int, first_line: int) -> None:
    row_ends = _line_ends(text)
    upto = np.searchsorted(starts, np.append(row_ends, len(text)))
    counts = np.diff(upto, prepend=0)
    wrong = np.flatnonzero((counts != channels) & (counts != 0))
    if len(wrong):
        line, row = first_line + int(wrong[0]), int(np.count_nonzero(counts[: wrong[0]])) + 1
        last = upto[wrong[0]] == len(starts) and counts[wrong[0]] < channels
        remedy = "the file is cut off here; export or copy it again" if last else "export the file again"
        raise InputError(
            f"line {line}: frame {row} has {int(counts[wrong[0]])} values where the hierarchy has {channels} channels: "
            + remedy
        )


def _line_ends(text: npt.NDArray[np.uint8]) -> Ints:
    """Positions of the bytes that end a line: LF, and CR where no LF follows (CR LF ends one line)."""
    line_feed = text == 10
    ends = line_feed.copy()
    ends[:-1] |= (text[:-1] == 13) & ~line_feed[1:]
    return np.flatnonzero(ends)


def _not_finite(block: bytes, starts: Ints, ends: Ints, odd: Ints, first_line: int) -> Ints:
    """Those of some odd words that stand for a value which is no number; the others are an error."""
    for token in odd.tolist():
        if not _NOT_FINITE.fullmatch(block, starts[token], ends[token]):
            raise _no_number(block, int(starts[token]), int(ends[token]), first_line)
    return odd


def _no_number(block: bytes, start: int, end: int, first_line: int) -> InputError:
    line = first_line + len(_line_ends(np.frombuffer(block[:start], dtype=np.uint8)))
    word = block[start : min(end, start + 40)].decode("latin-1")
    if re.fullmatch(rb"[-+]?\d+,\d+", block[start:end]):
        return InputError(f"line {line}: {word!r} has a decimal comma; export the file with decimal points")
    return InputError(f"line {line}: {word!r} is no number: the motion data is damaged; export the file again")


def _convert(block: bytes) -> Floats64 | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # older NumPy warns where newer raises
        try:
            return np.fromstring(block, dtype=np.float64, sep=" ")
        except (ValueError, DeprecationWarning):
            return None
