"""What Runfold has to reach, and what was measured."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.measure import Costs
from benchmarks.peers import ACCUMULATOR, RUNFOLD, SERVER

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
)
PEAK_OF_B = 200_000_000
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


def ratio_targets(results: Mapping[str, Mapping[str, Costs]]) -> list[Target]:
    """The ratios of CPU time, and the peak memory of B, as far as they were measured."""
    targets = []
    for log, peer, factor in RATIOS:
        readers = results.get(log, {})
        if any(name not in readers or not readers[name].costs for name in (RUNFOLD, peer)):
            continue
        ratio = readers[peer].cpu / readers[RUNFOLD].cpu
        targets.append(
            Target(f"{log}: CPU time of {peer}", f">= {factor}x", f"{ratio:.0f}x", ratio >= factor)
        )
    if results.get("B") and results["B"][RUNFOLD].costs:
        peak = results["B"][RUNFOLD].peak
        targets.append(
            Target("B: peak memory", "< 200 MB", f"{peak / 1e6:.0f} MB", peak < PEAK_OF_B)
        )
    return targets


def command_targets(
    import_seconds: Callable[[str], float], ls_seconds: Callable[[], float | None]
) -> list[Target]:
    """How long a user waits for the package and the command."""
    package, reader = import_seconds("import runfold"), import_seconds("from runfold import open")
    targets = [
        Target("import runfold", "< 100 ms", _milliseconds(package), package < IMPORT_SECONDS),
        Target("from runfold import open", "", _milliseconds(reader), None),
    ]
    listing = ls_seconds()
    if listing is not None:
        measured, met = _milliseconds(listing), listing < LS_SECONDS
        targets.append(Target("runfold ls, 5 small runs", "< 300 ms", measured, met))
    return targets


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"
