"""Column values in pandas types: categories, objects, images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


def categories(names: Sequence[str], lengths: Sequence[int]) -> pd.Categorical:
    """Return a categorical that repeats each name `lengths` times."""
    import pandas as pd

    distinct = {name: number for number, name in enumerate(dict.fromkeys(names))}
    dtype = np.min_scalar_type(-max(len(distinct), 1))
    codes = np.array([distinct[name] for name in names], dtype)
    return pd.Categorical.from_codes(
        np.repeat(codes, np.asarray(lengths, np.intp)),
        categories=pd.Index(list(distinct), dtype=object),
    )


def objects(values: Sequence[Any]) -> np.ndarray:
    """Return an object array with one value per element, even if each value is an array."""
    column = np.empty(len(values), object)
    for number, value in enumerate(values):
        column[number] = value
    return column


def is_pil(kind: type) -> bool:
    """Return whether a class is a PIL image, without importing PIL."""
    return kind.__module__.startswith("PIL.") and hasattr(kind, "getbands")
