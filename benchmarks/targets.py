"""What Runfold has to reach, and what was measured."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.contest import RUNFOLD, Contender
from benchmarks.peers import ACCUMULATOR, SERVER
from benchmarks.reducers import TB_REDUCER

# At least so many times less CPU time than the peer.
RATIOS = (
    ("A", ACCUMULATOR, 300),
    ("A", SERVER, 20),
    ("B", ACCUMULATOR, 300),
    ("B", SERVER, 20),
    ("C", ACCUMULATOR, 60),
    ("C", SERVER, 6),
    ("D", ACCUMULATOR, 200),
    ("D", SERVER, 15),
    ("E", ACCUMULATOR, 300),
    ("reduce", TB_REDUCER, 60),
)
PEAK_OF_B = 200_000_000
SHARE_OF_PEAK = 1 / 4
VALUES_A_SECOND = 50e6
BOOTSTRAP_SECONDS = 1.0
IMPORT_SECONDS = 0.1
LS_SECONDS = 0.3


@dataclass(frozen=True, slots=True)
class Target:
    """One of the aims: what is measured, the bound in words, and how it came out.

    Without a bound it is there to be known, and `is_met` is None.
    """

    subject: str
    bound: str
    measured: str
    is_met: bool | None


Results: TypeAlias = Mapping[str, Mapping[str, Contender]]


def contest_targets(results: Results) -> list[Target]:
    """The ratios of CPU time, then peak memory and speed, as far as they were measured."""
    return [*_ratios(results), *_peaks(results), *_speeds(results)]


def _ratios(results: Results) -> Iterator[Target]:
    for part, peer, factor in RATIOS:
        if (ours := _find(results, part)) and (theirs := _find(results, part, peer)):
            ratio = theirs.cpu / ours.cpu
            subject = f"{part}: CPU time of {peer}"
            yield Target(subject, f">= {factor}x", f"{ratio:.0f}x", ratio >= factor)


def _peaks(results: Results) -> Iterator[Target]:
    if ours := _find(results, "B"):
        peak = ours.peak
        yield Target("B: peak memory", "< 200 MB", f"{peak / 1e6:.0f} MB", peak < PEAK_OF_B)
    if (ours := _find(results, "reduce")) and (theirs := _find(results, "reduce", TB_REDUCER)):
        measured = f"{ours.peak / 1e6:.0f} of {theirs.peak / 1e6:.0f} MB"
        is_met = ours.peak < SHARE_OF_PEAK * theirs.peak
        yield Target("reduce: peak memory", f"< 1/4 of {TB_REDUCER}", measured, is_met)


def _speeds(results: Results) -> Iterator[Target]:
    if ours := _find(results, "fold"):
        speed = ours.size / ours.cpu
        measured = f"{speed / 1e6:.0f} M values/s"
        yield Target("fold: mean and std", ">= 50 M values/s", measured, speed >= VALUES_A_SECOND)
    if ours := _find(results, "bootstrap"):
        is_met = ours.cpu < BOOTSTRAP_SECONDS
        yield Target("bootstrap: CPU time", "< 1 s", f"{ours.cpu:.2f} s", is_met)


def _find(results: Results, part: str, name: str = RUNFOLD) -> Contender | None:
    """A contender of a part, if it was measured."""
    one = results.get(part, {}).get(name)
    return one if one and one.costs else None


def command_targets(
    import_seconds: Callable[[str], float],
    ls_seconds: Callable[[], float | None],
    imports_of_reduce: Callable[[], Mapping[str, list[str]]],
) -> list[Target]:
    """How long a user waits for the package and the command, and what commands import."""
    package, reader = import_seconds("import runfold"), import_seconds("from runfold import open")
    targets = [
        Target("import runfold", "< 100 ms", _milliseconds(package), package < IMPORT_SECONDS),
        Target("from runfold import open", "", _milliseconds(reader), None),
    ]
    listing = ls_seconds()
    if listing is not None:
        measured, met = _milliseconds(listing), listing < LS_SECONDS
        targets.append(Target("runfold ls, 5 small runs", "< 300 ms", measured, met))
    for kind, heavy in imports_of_reduce().items():
        measured = ", ".join(heavy) or "none"
        targets.append(Target(f"reduce to {kind}: heavy imports", "none", measured, not heavy))
    return targets


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"
