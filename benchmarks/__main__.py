"""Measure Runfold and its peers on the same logs: `python -m benchmarks`."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks import (
    adapter_training,
    adapters,
    arrays,
    browser,
    cluster,
    instances,
    limited,
    long_run,
    peers,
    questions,
    reducers,
    report,
    scale,
    serving,
    settings,
    stores,
    writers,
)
from benchmarks.commands import import_seconds, imports_of, imports_of_reduce, ls_seconds
from benchmarks.contest import Contest, Disagreement
from benchmarks.logs import LOGS, SMALL, Log, generate
from benchmarks.measure import ROOT, Undone
from benchmarks.targets import (
    LARGE_SCALE,
    SCALE,
    command_targets,
    contest_targets,
    page_targets,
    size_targets,
)

PAGE = "page"


def main(
    arguments: Sequence[str] | None = None,
    logs: Sequence[Log] = LOGS,
    calls: int = writers.CALLS,
) -> int:
    """Print a table per part and one for the targets; return 1 if contenders disagree."""
    parts = list_parts(logs, calls)
    options = _parse(arguments, [*parts, PAGE])
    results = {}
    waits = None
    start = time.perf_counter()
    print("CPU time is the median, without imports; files are in the page cache.")
    try:
        for name in parts:
            if name in options.only:
                try:
                    contest = parts[name](options.logs, options.fresh)
                except Undone as error:
                    print(f"\n{name}: not measured, {error}")
                    continue
                results[name] = contest.run(options.repeat)
                print(f"\n{report.table(contest)}", flush=True)
        if PAGE in options.only:
            waits = _measure_page(logs, options)
    except Disagreement as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    small = generate(SMALL, options.logs, options.fresh)
    targets = contest_targets(results)
    if "pack" in options.only:
        targets += size_targets(*questions.measure_sizes(logs, options.logs))
    if waits is not None:
        targets += page_targets(waits)
    targets += command_targets(
        partial(import_seconds, repeat=options.repeat),
        partial(ls_seconds, small, options.repeat),
        partial(imports_of_reduce, small),
        imports_of,
    )
    print(f"\n{report.target_table(targets)}")
    print(f"\nAll values agree. {time.perf_counter() - start:.0f} s in total.")
    if options.json:
        options.json.write_text(json.dumps(report.as_json(results, targets), indent=1))
    return 0


def list_parts(logs: Sequence[Log], calls: int) -> dict[str, Callable[[Path, bool], Contest]]:
    """Return a factory for each contest; it accepts the log folder and whether to rewrite it.

    Every log is read, and log B also event by event. B is reduced and served, and
    arrays of its size are folded. Writers are called `calls` times, or a number of times
    proportional to it.
    """
    folded = _find(logs, "B")
    return {log.name: partial(peers.make_contest, log) for log in logs} | {
        "reduce": partial(reducers.make_contest, folded),
        "fold": lambda root, fresh: arrays.make_fold_contest(folded),
        "bootstrap": lambda root, fresh: arrays.make_bootstrap_contest(folded.sampled()),
        "write": lambda root, fresh: writers.make_write_contest(calls),
        "log": lambda root, fresh: writers.make_log_contest(calls),
        "memory": lambda root, fresh: writers.make_memory_contest(calls),
        "serve": partial(serving.make_contest, folded),
        "query": partial(serving.make_query_contest, folded),
        "adapters": lambda root, fresh: adapters.make_contest(),
        "training": lambda root, fresh: adapter_training.make_contest(),
        "tensorboard": instances.make_contest,
        "settings": settings.make_contest,
        "long": long_run.make_contest,
        "limit": limited.make_contest,
        "windows": limited.make_window_contest,
        SCALE: scale.make_contest,
        LARGE_SCALE: partial(scale.make_contest, runs=scale.LARGE_RUNS),
        "store": stores.make_contest,
        "store-large": partial(stores.make_contest, log=stores.LARGE),
        "cluster": cluster.make_contest,
        **{name: partial(questions.make_contest, name, logs) for name in questions.QUESTIONS},
    }


def _find(logs: Sequence[Log], name: str) -> Log:
    return next(log for log in logs if log.name == name)


def _measure_page(logs: Sequence[Log], options: argparse.Namespace) -> browser.Waits | None:
    """Return the waiting times for the page of log B, or print a note and return None."""
    both = _find(logs, "B"), browser.SCROLLED
    try:
        return browser.measure_page(*both, options.logs, options.repeat, options.fresh)
    except Undone as error:
        print(f"\n{PAGE}: not measured, {error}")
        return None


def _parse(arguments: Sequence[str] | None, names: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only",
        default=[name for name in names if name != LARGE_SCALE],
        type=lambda text: text.split(","),
        metavar="A,B",
        help=f"parts to measure: {','.join(names)} (default: all except {LARGE_SCALE})",
    )
    parser.add_argument(
        "--repeat",
        default=7,
        type=int,
        metavar="N",
        help="measurements per contender, fewer for slow ones (default: 7)",
    )
    parser.add_argument("--fresh", action="store_true", help="rewrite the logs")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write all figures to this file"
    )
    parser.add_argument(
        "--logs",
        default=ROOT / "bench-logs",
        type=Path,
        metavar="DIR",
        help="folder of the logs (default: bench-logs)",
    )
    options = parser.parse_args(arguments)
    for name in options.only:
        if name not in names:
            parser.error(f"unknown part {name!r}; choose from {', '.join(names)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
