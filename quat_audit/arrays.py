# SPDX-License-Identifier: GPL-3.0-or-later
"""The array types of the whole package. Shapes stand in the docstrings of what takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]
Strings = npt.NDArray[np.str_]
