"""Tables of steps and runs reduced to one value for each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._humanize import did_you_mean, escape
from runfold.errors import UnknownStatistic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

# What an unknown name may have been meant to be.
_OPERATIONS = (
    *("count", "kurt", "max", "mean", "median", "min", "nunique", "prod"),
    *("quantile", "sem", "skew", "std", "sum", "var"),
)


class UnknownOperation(UnknownStatistic, AttributeError):
    """No reduction of pandas has that name; an AttributeError, as tensorboard-reducer gives."""


def reduce_events(
    events_dict: Mapping[str, pd.DataFrame],
    reduce_ops: str | Sequence[str],
    *,
    verbose: bool = False,
) -> dict[str, dict[str, pd.Series[Any]]]:
    """For each operation and each tag the values over all runs, one a step.

    Operations are those of pandas, by name, so `std` is that of a sample (ddof 1)
    and NaN is skipped. Raises UnknownOperation with the near ones.
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
    except TypeError:  # `head`, for example, takes no axis
        reduced = None
    if isinstance(reduced, pd.Series):  # `cumsum`, for example, gives a table again
        return reduced
    hint = did_you_mean(operation, _OPERATIONS) or f"There are {', '.join(_OPERATIONS)}."
    raise UnknownOperation(f"pandas has no reduction '{escape(operation)}'. {hint}")
