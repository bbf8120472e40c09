"""The statistics that form a line with a band around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runfold._reduce.operations import INTERVAL, QUANTILE, each_operation
from runfold._reduce.statistics import CENTERS, SPREADS, name_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._reduce.folded import Curve
    from runfold._reduce.operations import Operation


@dataclass(frozen=True, slots=True)
class Band:
    """A line and a band around it: `mean` with `std`, `median` with `q25` and `q75`.

    Attributes:
        center: the statistic of the line.
        lower: the statistic of the lower edge, or the spread to subtract.
        upper: the statistic of the upper edge, or the same spread to add.
    """

    center: str
    lower: str
    upper: str

    @property
    def is_spread(self) -> bool:
        """Whether the edges are the center minus and plus a spread."""
        return self.lower == self.upper

    @property
    def label(self) -> str:
        """The description of the band in a caption: `mean ± std`, `median, q25 to q75`."""
        if self.is_spread:
            return f"{self.center} ± {self.lower}"
        if self.lower.endswith("-low"):
            return f"{self.center}, {self.lower.removesuffix('-low')}"
        return f"{self.center}, {self.lower} to {self.upper}"

    def of(
        self, curve: Curve, part: slice = slice(None)
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the line and its lower and upper edge, or a part of them."""
        names = self.center, self.lower, self.upper
        center, lower, upper = (curve[name][part] for name in names)
        if not self.is_spread:
            return center, lower, upper
        with np.errstate(invalid="ignore", over="ignore"):  # means can be infinite
            return center, center - lower, center + upper


def choose_band(statistics: Sequence[str]) -> Band | None:
    """Return the first band of `list_bands`, or None."""
    return next(list_bands(statistics), None)


def list_bands(statistics: Sequence[str]) -> Iterator[Band]:
    """Yield all bands that statistics can form, ordered by center and edge.

    An interval forms a band only around its own center: `ci95-iqm` around `iqm`, `ci95` and
    `sem` around `mean`.
    """
    for center in find_centers(statistics):
        yield from _bands(center, statistics)


def find_centers(statistics: Sequence[str]) -> list[str]:
    """Return the statistics that can be the line of a band."""
    return [name for name in statistics if name in CENTERS]


def find_stray_edges(statistics: Sequence[str]) -> list[str]:
    """Return the edges of intervals whose center is missing; empty if there are no centers."""
    centers = find_centers(statistics)
    return [name for name in statistics if centers and _owner(name) not in (None, *centers)]


def explain_stray_edges(statistics: Sequence[str]) -> str:
    """Return a sentence on why the statistics form no band; empty if they form one.

    The sentence also suggests an interval that forms a band.
    """
    edges = find_stray_edges(statistics)
    if not edges or choose_band(statistics):
        return ""
    name, center = edges[0].removesuffix("-low"), find_centers(statistics)[0]
    level = match[1] if (match := INTERVAL.fullmatch(name)) else "95"
    own = name_interval(level, center)
    return (
        f"{name} is computed for the {_owner(edges[0])}, so it does not form a band around the"
        f" {center}. Use '{own}' for a band."
    )


def choose_operations(
    requested: Operation | Iterable[Operation] | None, by: object
) -> tuple[list[Operation], str]:
    """Return the statistics to draw, and a sentence if an interval was replaced.

    The default is mean and std, or only the mean if each run is a group, because a single
    run has no spread. Plain intervals are computed for the first center:

        "iqm,ci95"  ->  ["iqm", "ci95-iqm"]
    """
    if requested is None:
        return ["mean"] if by in ("run", ["run"]) else ["mean", "std"], ""
    operations = list(each_operation(requested))
    names = [operation for operation in operations if isinstance(operation, str)]
    center = next(iter(find_centers(names)), "mean")
    chosen = [_match_interval(operation, center) for operation in operations]
    if chosen == operations:
        return chosen, ""
    shown = ", ".join(str(getattr(operation, "__name__", operation)) for operation in chosen)
    return chosen, f"The interval was changed to match the line: {shown}."


def _match_interval(operation: Operation, center: str) -> Operation:
    match = INTERVAL.fullmatch(operation) if isinstance(operation, str) else None
    return name_interval(match[1], center) if match and not match[2] else operation


def _owner(name: str) -> str | None:
    """Return the center of a spread or interval; None for other statistics."""
    if center := SPREADS.get(name):
        return center
    match = INTERVAL.fullmatch(name.removesuffix("-low").removesuffix("-high"))
    if not match or not name.endswith(("-low", "-high")):
        return None
    return match[2] if match[2] in CENTERS else "mean"


def _bands(center: str, statistics: Sequence[str]) -> Iterator[Band]:
    quantiles = {
        float(match[1]): name for name in statistics if (match := QUANTILE.fullmatch(name))
    }
    for name in statistics:
        if _owner(name) not in (None, center):
            continue
        if name in SPREADS:
            yield Band(center, name, name)
        elif name.endswith("-low") and f"{name[:-4]}-high" in statistics:
            yield Band(center, name, f"{name[:-4]}-high")
        elif name in quantiles.values():
            yield from _between_quantiles(center, name, quantiles)
        elif name in ("min", "max") and {"min", "max"} <= set(statistics):
            yield Band(center, "min", "max")


def _between_quantiles(center: str, name: str, quantiles: dict[float, str]) -> Iterator[Band]:
    """Yield the band between a quantile and its mirror, such as q25 and q75.

    If the mirror is missing, the band ends at the farthest quantile on the other side.
    """
    percent = next(number for number, known in quantiles.items() if known == name)
    farthest = max(quantiles) if percent < 50 else min(quantiles)
    low, high = sorted((percent, 100 - percent if 100 - percent in quantiles else farthest))
    if low < 50 < high:
        yield Band(center, quantiles[low], quantiles[high])
