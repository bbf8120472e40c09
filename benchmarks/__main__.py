"""Measure Runfold and its peers on the same logs: `python -m benchmarks`."""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks import report
from benchmarks.commands import import_seconds, ls_seconds
from benchmarks.logs import LOGS, SMALL, Log, generate
from benchmarks.measure import ROOT, Costs, Unread, load, measure
from benchmarks.peers import RUNFOLD, Reader, readers_of, reference_of
from benchmarks.readings import Series, find_disagreement
from benchmarks.targets import command_targets, ratio_targets

# Slow readers are measured twice, and then again as long as it takes no longer than this.
SECONDS_PER_READER = 20.0
AT_LEAST = 2


class Disagreement(Exception):
    """Two readers read different values from the same log."""


def main(arguments: Sequence[str] | None = None, logs: Sequence[Log] = LOGS) -> int:
    """Print a table for each log and one of the targets; 1 if readers disagree."""
    options = _parse(arguments, logs)
    wanted = [log for log in logs if log.name in options.only]
    results = {}
    start = time.perf_counter()
    print("CPU time is the median. It starts when all is imported; files are in the page cache.")
    try:
        for log in wanted:
            results[log.name] = run(log, options.logs, options.repeat, options.fresh)
            print(f"\n{report.log_table(log, results[log.name])}", flush=True)
    except Disagreement as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    small = generate(SMALL, options.logs, options.fresh)
    targets = ratio_targets(results) + command_targets(
        partial(import_seconds, repeat=options.repeat), partial(ls_seconds, small, options.repeat)
    )
    print(f"\n{report.target_table(targets)}")
    print(f"\nAll values agree. {time.perf_counter() - start:.0f} s in all.")
    if options.json:
        options.json.write_text(json.dumps(report.as_json(results, targets), indent=1))
    return 0


def run(log: Log, root: Path, repeat: int, fresh: bool = False) -> dict[str, Costs]:
    """Measure every reader of a log in turns, and compare what they read.

    Raises Disagreement.
    """
    results = {reader.name: Costs(reader, log) for reader in readers_of(log)}
    folders = {
        part: generate(part, root, fresh) for part in {costs.part for costs in results.values()}
    }
    for folder in folders.values():
        _warm_up(folder)
    with tempfile.TemporaryDirectory() as kept:
        for turn in range(repeat):
            for number, costs in enumerate(results.values()):
                keep = Path(kept, str(number)) if turn == 0 else None
                if turn < AT_LEAST or _has_time(costs):
                    _measure(costs, folders[costs.part], keep)
            if turn == 0:
                _compare(log, list(results.values()), Path(kept))
    return results


def _measure(costs: Costs, folder: Path, keep: Path | None) -> None:
    if costs.trouble:
        return
    try:
        costs.costs.append(measure(costs.reader, costs.part, folder, keep))
    except Unread as error:
        if costs.reader.name == RUNFOLD:
            raise
        costs.trouble = str(error)


def _has_time(costs: Costs) -> bool:
    spent = sum(cost.wall for cost in costs.costs)
    return spent * (1 + 1 / max(1, len(costs.costs))) <= SECONDS_PER_READER


def _compare(log: Log, results: list[Costs], kept: Path) -> None:
    names = [costs.reader.name for costs in results]
    ours = load(kept / str(names.index(reference_of(log))))
    for number, costs in enumerate(results):
        if costs.costs:
            _compare_one(costs.reader, costs.part, ours, load(kept / str(number)))


def _compare_one(reader: Reader, part: Log, ours: Series, theirs: Series) -> None:
    difference = find_disagreement(ours, theirs, reader.is_sampler)
    runs = len({run for run, _ in theirs})
    if difference is None and runs != part.runs:
        difference = f"{runs} of {part.runs} runs were read"
    if difference is not None:
        raise Disagreement(f"{part.name}: {RUNFOLD} and {reader.name} disagree. {difference}")


def _warm_up(folder: Path) -> None:
    """Bring a log's files into the page cache."""
    for path in folder.glob("*/*"):
        path.read_bytes()


def _parse(arguments: Sequence[str] | None, logs: Sequence[Log]) -> argparse.Namespace:
    names = [log.name for log in logs]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        default=names,
        type=lambda text: text.split(","),
        metavar="A,B",
        help=f"the logs to read (default: {','.join(names)})",
    )
    parser.add_argument(
        "--repeat",
        default=7,
        type=int,
        metavar="N",
        help="readings of each log by each reader, fewer where they are slow (default: 7)",
    )
    parser.add_argument("--fresh", action="store_true", help="write the logs anew")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures here")
    parser.add_argument(
        "--logs",
        default=ROOT / "bench-logs",
        type=Path,
        metavar="DIR",
        help="where the logs are (default: bench-logs)",
    )
    options = parser.parse_args(arguments)
    for name in options.only:
        if name not in names:
            parser.error(f"no log {name!r}; there are {', '.join(names)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
