"""The command `runfold diff`."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from runfold._cli.logdir_option import find_run_logdir
from runfold._cli.terminal import (
    Column,
    CommandError,
    as_typed,
    has_color,
    no_runs,
    note,
    print_json,
    print_table,
    show_tag,
    width,
)
from runfold._humanize import did_you_mean, escape, human_count, human_list
from runfold._labels import label_names
from runfold._storage.url import show_url
from runfold.errors import UnknownRun

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser
    from runfold._logdir.run_log import RunLog
    from runfold._tables.by_run.difference import Difference, Entry, Final

USAGE = """\
runfold diff [options] RUN_A RUN_B
       runfold diff [options] LOGDIR RUN_A RUN_B"""

HELP = """\
Show how two runs differ.

Compares status, command, configuration, hparams, environment, packages, host,
code (commit, uncommitted changes and untracked files) and the last value of
each scalar. Data that only one of the runs has is listed, not compared. System
metrics (`system/`) and values that always differ between runs, such as process
and job numbers, are left out unless --all is given.

Example:
  runfold diff demo-runs lr-0.1/seed-0 lr-0.01/seed-0

Exit status: 0, whether or not the runs differ; 2 if a path or run does not
exist.
"""

_COLORS = {"+": 32, "-": 31, "@": 36}
# A log can contain anything, and users paste the printed commands into a shell.
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="Two run folders, or PACK/RUN for runs in a pack; or a logdir and two runs, as"
        " listed by `runfold ls`.",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="Include identical values and values that always differ. Default: off.",
    )
    parser.add_logdir()
    parser.add_json()
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Print the differences."""
    from runfold._tables.by_run.difference import compare_runs

    if len(options.runs) not in (2, 3):
        raise CommandError("Expected two run folders, or a logdir and two runs.")
    logdir = find_run_logdir(options, options.runs, 2)
    first, second = options.runs[-2:]
    a, log_a = open_run([*logdir, first], options.restarts)
    b, log_b = open_run([*logdir, second], options.restarts)
    difference = compare_runs(log_a, log_b, (a, b))
    shown = difference if options.all else difference.without_same()
    if options.json:
        print_json(_describe(shown, (a, log_a), (b, log_b)))
    else:
        _print(shown, escape(a), escape(b))
    for label, log in ((a, log_a), (b, log_b)):
        for problem in log.late_problems:
            note(str(problem.in_run(label)))
    return 0


def open_run(names: list[str], restarts: str = "session") -> tuple[str, RunLog]:
    """Return a run's label and log. A run is specified by its folder, or by logdir and name."""
    from runfold._pack.open_logdir import open_logdir
    from runfold._pack.pack_paths import split_run

    label = names[-1].rstrip("/") or names[-1]
    path, *name = split_run(names[0]) if len(names) == 1 else names
    logdir = open_logdir(path, restarts=restarts)
    runs = list(logdir.logs)
    if not runs:
        raise CommandError(no_runs(path))
    if name:
        if part := logdir.explain_part(name[0]):
            raise UnknownRun(part)
        if name[0] not in logdir.logs:
            hint = did_you_mean(name[0], runs) or f"`runfold ls {as_typed(path)}` lists them."
            raise UnknownRun(f"No run '{escape(name[0])}' in '{show_url(path)}'. {hint}")
        return label, logdir.logs[name[0]]
    # A run can have runs below it, such as the trials of a sweep.
    if "." not in runs and len(runs) > 1:
        count = human_count(len(runs), "run")
        raise CommandError(
            f"There are {count} in '{show_url(path)}': {human_list(runs)}."
            " Specify the folder of one run."
        )
    return label, logdir.logs["." if "." in runs else runs[0]]


def is_commit(value: object) -> bool:
    """Return whether a value is a commit hash, and so is safe to use in a shell command."""
    return isinstance(value, str) and _COMMIT.fullmatch(value) is not None


def _print(difference: Difference, a: str, b: str) -> None:
    blocks = [
        partial(_print_entries, title, entries, a, b)
        for title, entries in difference.sections.items()
        if entries
    ]
    blocks += [partial(_print_change, name, lines) for name, lines in difference.changes.items()]
    if difference.finals:
        blocks.append(partial(_print_finals, difference.finals, a, b))
    for number, block in enumerate(blocks):
        if number:
            print()
        block()
    if not blocks:
        note(f"{a} and {b} do not differ in anything that both record.")
    for entry in difference.sections.get("code", []):
        commits = [commit for commit in (entry.a, entry.b) if is_commit(commit)]
        if entry.name == "commit" and len(set(commits)) == 2:
            note(f"`git diff {' '.join(commits)}` shows what changed between the two commits.")
    for label, names in ((a, difference.only_a), (b, difference.only_b)):
        if names:
            note(f"Recorded only for {label}: {', '.join(names)}.")


def _print_entries(title: str, entries: list[Entry], a: str, b: str) -> None:
    a, b = _short_heads(a, b)
    columns = [Column(title, is_name=True), *(Column(head, may_shrink=True) for head in (a, b))]
    print_table(columns, [_cells(entry) for entry in entries])


def _short_heads(a: str, b: str) -> tuple[str, str]:
    """Return the names of the two runs as headings that stay distinct in a narrow window."""
    limit = width()
    labels = label_names((a, b), None if limit is None else limit // 4, drop_folder=False)
    return labels.shown[a], labels.shown[b]


def _print_change(name: str, lines: list[str]) -> None:
    from runfold._cli.render import view_lines

    print(_paint(escape(name), 1))
    for line in view_lines("text", "\n".join(lines)):  # escapes each line
        print(_paint(line, _COLORS.get(line[:1], 0)))


def _cells(entry: Entry) -> list[str]:
    from runfold._tables.by_run.difference import MISSING

    shown = [
        "-" if value is MISSING else value if isinstance(value, str) else json.dumps(value)
        for value in (entry.a, entry.b)
    ]
    if shown[0] == shown[1] and not entry.is_same:  # such as 1 and "1"
        shown = ["-" if value is MISSING else json.dumps(value) for value in (entry.a, entry.b)]
    return [escape(entry.name, 10_000), *map(escape, shown)]


def _print_finals(finals: list[Final], a: str, b: str) -> None:
    # If the runs ended at different steps, show each value's step.
    has_steps = any(final.a and final.b and final.a[0] != final.b[0] for final in finals)
    rows = []
    for final in finals:
        both = [end[1] for end in (final.a, final.b) if end is not None]
        shown = iter(_format_distinct(both))
        cells = [
            "-" if end is None else next(shown) + (f" @ {end[0]}" if has_steps else "")
            for end in (final.a, final.b)
        ]
        change = f"{both[1] - both[0]:+.4g}" if len(both) == 2 else "-"
        rows.append([show_tag(final.tag), *cells, change])
    heads = [*_short_heads(a, b), "change"]
    columns = [Column(head, is_number=True, may_shrink=head != "change") for head in heads]
    title = "last value @ step" if has_steps else "last value"
    print_table([Column(title, is_name=True), *columns], rows)


def _format_distinct(numbers: list[float]) -> list[str]:
    """Return numbers with just enough digits to keep them distinct."""
    for form in (".6g", ".9g", ""):
        shown = [f"{number:{form}}" for number in numbers]
        if len(set(shown)) == len(set(numbers)):
            break
    return shown


def _paint(line: str, color: int) -> str:
    return f"\x1b[{color}m{line}\x1b[0m" if color and has_color() else line


def _describe(
    difference: Difference, a: tuple[str, RunLog], b: tuple[str, RunLog]
) -> dict[str, Any]:
    from runfold._tables.by_run.difference import MISSING

    def describe(entry: Entry) -> dict[str, Any]:
        sides = {side: getattr(entry, side) for side in ("a", "b")}
        return {"name": entry.name} | {
            side: value for side, value in sides.items() if value is not MISSING
        }

    def end(point: tuple[int, float] | None) -> dict[str, Any] | None:
        return None if point is None else {"step": point[0], "value": point[1]}

    return {
        "a": {"run": a[0], "path": a[1].path},
        "b": {"run": b[0], "path": b[1].path},
        "sections": {name: list(map(describe, rows)) for name, rows in difference.sections.items()},
        "only_a": difference.only_a,
        "only_b": difference.only_b,
        "changes": {name: "\n".join(lines) for name, lines in difference.changes.items()},
        "last_values": [
            {"tag": final.tag, "a": end(final.a), "b": end(final.b)} for final in difference.finals
        ],
    }
