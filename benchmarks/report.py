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
    """Return a table with one line per contender."""
    contenders = contest.contenders
    own = next(
        (
            contender.cpu
            for contender in contenders
            if contender.name == RUNFOLD and contender.costs
        ),
        None,
    )
    heading, size = contest.headings
    parts = list(
        dict.fromkeys(
            part for contender in contenders if contender.costs for part in contender.costs[0].parts
        )
    )
    headings = (heading, *HEADINGS, *parts, size, "n")
    rows = [_cells(contender, own, parts) for contender in contenders]
    lines = [contest.title, align([headings, *rows])]
    for contender in contenders:
        lines += [
            f"  {contender.name}: {note}" for note in (contender.note, contender.trouble) if note
        ]
    return "\n".join(lines)


def _cells(contender: Contender, own: float | None, parts: Sequence[str]) -> Sequence[str]:
    if not contender.costs:
        return (contender.name, *["-"] * (len(HEADINGS) + len(parts) + 2))
    least, most = contender.cpu_range
    return (
        contender.name,
        f"{contender.cpu:.3f}",
        f"{least:.3f}-{most:.3f}",
        "-" if own is None else f"{contender.cpu / own:.1f}x",
        f"{contender.wall:.3f}",
        f"{contender.peak / 1e6:.0f}",
        f"{contender.growth / 1e6:.0f}",
        *(
            f"{contender.part(heading):.4f}" if heading in contender.costs[0].parts else "-"
            for heading in parts
        ),
        f"{contender.size:,}" + (f" (x{contender.scale:.0f})" if contender.scale > 1 else ""),
        f"{len(contender.costs)}",
    )


def target_table(targets: Iterable[Target]) -> str:
    """Return the table of targets and results."""
    verdicts = {True: "reached", False: "missed", None: ""}
    rows = [
        (target.subject, target.bound, target.measured, verdicts[target.is_met])
        for target in targets
    ]
    return align([("target", "bound", "measured", ""), *rows])


def as_json(results: Results, targets: Iterable[Target]) -> Any:
    """Return every individual measurement, and a description of the machine."""
    return {
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
        },
        "parts": {
            part: {
                name: {
                    "size": contender.size,
                    "scale": contender.scale,
                    "cpu": contender.cpu if contender.costs else None,
                    "costs": [asdict(cost) for cost in contender.costs],
                    "trouble": contender.trouble,
                }
                for name, contender in contenders.items()
            }
            for part, contenders in results.items()
        },
        "targets": [asdict(target) for target in targets],
    }


def align(rows: Sequence[Sequence[str]]) -> str:
    """Return aligned columns: the first one left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  "
        + "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
