"""The results as tables for the terminal, and as JSON."""

import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.logs import Log
from benchmarks.measure import Costs
from benchmarks.peers import RUNFOLD
from benchmarks.targets import Target

HEADINGS = ("reader", "CPU s", "least-most", "ratio", "wall s", "peak MB", "growth MB", "runs", "n")


def log_table(log: Log, readers: Mapping[str, Costs]) -> str:
    """One line for each reader of a log."""
    own = readers[RUNFOLD].cpu if readers[RUNFOLD].costs else None
    lines = [str(log), align([HEADINGS, *(_cells(costs, own) for costs in readers.values())])]
    for name, costs in readers.items():
        lines += [f"  {name}: {note}" for note in (costs.reader.note, costs.trouble) if note]
    return "\n".join(lines)


def _cells(costs: Costs, own: float | None) -> Sequence[str]:
    name = costs.reader.name
    if not costs.costs:
        return (name, *["-"] * (len(HEADINGS) - 1))
    least, most = costs.cpu_range
    ratio = "-" if own is None else f"{costs.cpu / own:.1f}x"
    return (
        name,
        f"{costs.cpu:.3f}",
        f"{least:.3f}-{most:.3f}",
        ratio,
        f"{costs.wall:.3f}",
        f"{costs.peak / 1e6:.0f}",
        f"{costs.growth / 1e6:.0f}",
        f"{costs.part.runs}" + (f" (x{costs.scale:.0f})" if costs.scale > 1 else ""),
        f"{len(costs.costs)}",
    )


def target_table(targets: Iterable[Target]) -> str:
    """What was to be reached, and what was."""
    verdicts = {True: "reached", False: "missed", None: ""}
    rows = [(one.subject, one.bound, one.measured, verdicts[one.is_met]) for one in targets]
    return align([("target", "bound", "measured", ""), *rows])


def as_json(results: Mapping[str, Mapping[str, Costs]], targets: Iterable[Target]) -> Any:
    """Every single measurement, and the machine they were taken on."""
    return {
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
        },
        "logs": {
            log: {
                name: {
                    "runs": costs.part.runs,
                    "scale": costs.scale,
                    "cpu": costs.cpu if costs.costs else None,
                    "costs": [asdict(cost) for cost in costs.costs],
                    "trouble": costs.trouble,
                }
                for name, costs in readers.items()
            }
            for log, readers in results.items()
        },
        "targets": [asdict(target) for target in targets],
    }


def align(rows: Sequence[Sequence[str]]) -> str:
    """Columns of text: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  "
        + "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
