"""Reduces tables of steps and runs to one value per step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._humanize import did_you_mean, escape
from runfold.errors import UnknownStatistic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

# Suggestions for an unknown name.
_OPERATIONS = (
    *("count", "kurt", "max", "mean", "median", "min", "nunique", "prod"),
    *("quantile", "sem", "skew", "std", "sum", "var"),
)


class UnknownOperation(UnknownStatistic, AttributeError):
    """No pandas reduction has this name. This is an AttributeError, as in tensorboard-reducer."""


def reduce_events(
    events_dict: Mapping[str, pd.DataFrame],
    reduce_ops: str | Sequence[str],
    *,
    verbose: bool = False,
) -> dict[str, dict[str, pd.Series[Any]]]:
    """Return one value per step over all runs, for each operation and tag.

    Operations are the names of pandas reductions, so `std` is the sample standard
    deviation (ddof 1), and NaN is skipped. Raises UnknownOperation, which suggests close
    matches, if an operation does not exist.
    """
    operations = [reduce_ops] if isinstance(reduce_ops, str) else reduce_ops
    reduced = {
        operation: {tag: _reduce(frame, operation) for tag, frame in events_dict.items()}
        for operation in operations
    }
    if verbose:
        print(
            f"Reduced {len(events_dict)} scalars with {len(operations)} operations: "
            f"({', '.join(operations)})"
        )
    return reduced


def _reduce(frame: pd.DataFrame, operation: str) -> pd.Series[Any]:
    import pandas as pd

    method = getattr(frame, operation, None)
    try:
        reduced = method(axis=1) if callable(method) else None
    except TypeError:  # `head`, for example, accepts no axis
        reduced = None
    if isinstance(reduced, pd.Series):  # `cumsum`, for example, returns a table
        return reduced
    hint = did_you_mean(operation, _OPERATIONS) or f"Available: {', '.join(_OPERATIONS)}."
    raise UnknownOperation(f"pandas has no reduction '{escape(operation)}'. {hint}")
