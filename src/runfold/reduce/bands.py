"""Which statistics make a line with a band around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runfold.reduce.statistics import QUANTILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from runfold.reduce.folded import Curve

CENTRES = ("mean", "iqm", "median")
_SPREADS = ("std", "sem")


@dataclass(frozen=True, slots=True)
class Band:
    """A line and what lies around it: `mean` with `std`, `median` with `q25` and `q75`.

    Attributes:
        centre: the statistic of the line.
        lower, upper: the statistics of the edges; or twice the spread to be
            taken off and added.
    """

    centre: str
    lower: str
    upper: str

    @property
    def is_spread(self) -> bool:
        """Whether the edges are the centre less and plus a spread."""
        return self.lower == self.upper

    @property
    def label(self) -> str:
        """As one would write it below a figure: `mean ± std`, `median, q25 to q75`."""
        if self.is_spread:
            return f"{self.centre} ± {self.lower}"
        if self.lower.endswith("-low"):
            return f"{self.centre}, {self.lower.removesuffix('-low')}"
        return f"{self.centre}, {self.lower} to {self.upper}"

    def of(
        self, curve: Curve
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The line and its lower and upper edge."""
        centre, lower, upper = (curve[name] for name in (self.centre, self.lower, self.upper))
        if not self.is_spread:
            return centre, lower, upper
        with np.errstate(invalid="ignore", over="ignore"):  # the mean of a run may be infinite
            return centre, centre - lower, centre + upper


def choose_band(statistics: Sequence[str]) -> Band | None:
    """The band that statistics make: around the first line, by the first that can be an edge."""
    centre = next((name for name in statistics if name in CENTRES), None)
    return next(_bands(centre, statistics), None) if centre else None


def _bands(centre: str, statistics: Sequence[str]) -> Iterator[Band]:
    quantiles = {
        float(found[1]): name for name in statistics if (found := QUANTILE.fullmatch(name))
    }
    for name in statistics:
        if name in _SPREADS:
            yield Band(centre, name, name)
        elif name.endswith("-low") and f"{name[:-4]}-high" in statistics:
            yield Band(centre, name, f"{name[:-4]}-high")
        elif name in quantiles.values():
            yield from _between_quantiles(centre, name, quantiles)
        elif name in ("min", "max") and {"min", "max"} <= set(statistics):
            yield Band(centre, "min", "max")


def _between_quantiles(centre: str, name: str, quantiles: dict[float, str]) -> Iterator[Band]:
    """A quantile and its mirror image, q25 and q75, or else the farthest on the other side."""
    percent = next(one for one, known in quantiles.items() if known == name)
    farthest = max(quantiles) if percent < 50 else min(quantiles)
    low, high = sorted((percent, 100 - percent if 100 - percent in quantiles else farthest))
    if low < 50 < high:
        yield Band(centre, quantiles[low], quantiles[high])
