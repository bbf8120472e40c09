"""The results as tables for the terminal, and as JSON."""

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.targets import Results, Target

HEADINGS = ("CPU s", "least-most", "ratio", "wall s", "peak MB", "growth MB")


def table(contest: Contest) -> str:
    """One line for each contender."""
    contenders = contest.contenders
    own = next((one.cpu for one in contenders if one.name == RUNFOLD and one.costs), None)
    who, size = contest.headings
    parts = next((list(one.costs[0].parts) for one in contenders if one.costs), [])
    headings = (who, *HEADINGS, *parts, size, "n")
    rows = [_cells(one, own, parts) for one in contenders]
    lines = [contest.title, align([headings, *rows])]
    for one in contenders:
        lines += [f"  {one.name}: {note}" for note in (one.note, one.trouble) if note]
    return "\n".join(lines)


def _cells(one: Contender, own: float | None, parts: Sequence[str]) -> Sequence[str]:
    if not one.costs:
        return (one.name, *["-"] * (len(HEADINGS) + len(parts) + 2))
    least, most = one.cpu_range
    return (
        one.name,
        f"{one.cpu:.3f}",
        f"{least:.3f}-{most:.3f}",
        "-" if own is None else f"{one.cpu / own:.1f}x",
        f"{one.wall:.3f}",
        f"{one.peak / 1e6:.0f}",
        f"{one.growth / 1e6:.0f}",
        *(f"{one.part(heading):.4f}" for heading in parts),
        f"{one.size:,}" + (f" (x{one.scale:.0f})" if one.scale > 1 else ""),
        f"{len(one.costs)}",
    )


def target_table(targets: Iterable[Target]) -> str:
    """What was to be reached, and what was."""
    verdicts = {True: "reached", False: "missed", None: ""}
    rows = [(one.subject, one.bound, one.measured, verdicts[one.is_met]) for one in targets]
    return align([("target", "bound", "measured", ""), *rows])


def as_json(results: Results, targets: Iterable[Target]) -> Any:
    """Every single measurement, and the machine they were taken on."""
    return {
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
        },
        "parts": {
            part: {
                name: {
                    "size": one.size,
                    "scale": one.scale,
                    "cpu": one.cpu if one.costs else None,
                    "costs": [asdict(cost) for cost in one.costs],
                    "trouble": one.trouble,
                }
                for name, one in contenders.items()
            }
            for part, contenders in results.items()
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
