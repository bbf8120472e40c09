"""The command `runfold ls`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._cli.column_fit import fit_columns
from runfold._cli.terminal import (
    Column,
    fits_window,
    no_runs,
    note,
    note_problems,
    print_fitted,
    print_json,
    show_names,
    show_tag,
    width,
)
from runfold._cli.where_option import choose_logs, count_chosen, no_match
from runfold._humanize import (
    escape,
    human_bytes,
    human_count,
    human_duration,
    human_list,
    human_span,
)
from runfold._storage.url import mask_url

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runfold._cli.parser import Parser
    from runfold._logdir.loader import Logdir
    from runfold._tables.by_run.listing import RunLine, TagLine

HELP = """\
List runs and their contents.

Prints one line per run: the number of tags of each kind, the number of points,
the range of steps, the duration, the size of the event files, and the number of
problems in them and in the run's side files. If a restarted job logged points
twice, a column counts the hidden points. A folder that torch's `add_hparams`
created in a run's folder is treated as part of that run. Tensors of plugins
that Runfold does not know are listed with the plugin's name and their size.
Values that only their plugin can read are listed as unknown.

Example:
  runfold ls --tags demo-runs

Exit status: 0, even if there are problems; 2 if a path does not exist.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "--tags", action="store_true", help="Print one line per tag of each run. Default: off."
    )
    parser.add_where()
    parser.add_json()
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Print the list."""
    from runfold._pack.open_logdir import open_logdir
    from runfold._story.odd_side_files import find_odd_files
    from runfold._tables.by_run.listing import list_run
    from runfold._tables.by_run.run_columns import MOST_TAGS
    from runfold._tables.found_config.config_reader import check_config

    logdir = open_logdir(*options.logdirs, restarts=options.restarts)
    logs = choose_logs(logdir, options.where)
    logdir.load(logs)
    for log in logs:
        for problem in find_odd_files(log.path):
            log.note(problem)
        check_config(log)
    most = None if options.json else MOST_TAGS
    lines = [list_run(log, most) for log in logs]
    if options.json:
        print_json(_describe(logdir, lines))
        return 0
    if lines and options.tags:
        _print_tags(logdir, lines)
        _note_left_out(lines)
    elif lines:
        _print_runs(lines)
    _print_totals(logdir, lines, options)
    return 0


def _print_runs(lines: list[RunLine]) -> None:
    has_hidden = any(line.hidden for line in lines)
    has_problems = any(line.problems for line in lines)
    # The higher the rank, the sooner a narrow window drops the column.
    columns = {
        Column("run", is_name=True): 0,
        Column("tags"): 2,
        Column("points", is_number=True): 0,
        **({Column("hidden", is_number=True): 1} if has_hidden else {}),
        Column("steps", is_number=True): 1,
        Column("duration", is_number=True): 2,
        Column("size", is_number=True): 3,
        Column("problems", is_number=True): 0 if has_problems else 3,
    }
    names = show_names(line.run for line in lines)
    rows = [
        [
            names[line.run],
            _kinds(line),
            human_count(line.points),
            *([human_count(line.hidden)] if has_hidden else []),
            human_span(line.steps) or "-",
            human_duration(line.duration),
            human_bytes(line.size),
            human_count(line.problems) if line.problems else "-",
        ]
        for line in lines
    ]
    if not fits_window(list(columns), rows):
        for row, line in zip(rows, lines, strict=True):
            row[1] = _kinds_in_short(line)
    _print(columns, rows)


def _print_tags(logdir: Logdir, lines: list[RunLine]) -> None:
    has_hidden = any(line.hidden for line in lines)
    columns = {
        Column("run", is_name=True): 0,
        Column("tag", is_name=True): 0,
        Column("kind"): 2,
        Column("points", is_number=True): 1,
        **({Column("hidden", is_number=True): 1} if has_hidden else {}),
        Column("steps", is_number=True): 1,
    }
    from runfold._tables.frames.unknown_plugins import name_kind

    names = show_names(line.run for line in lines)
    rows = []
    for line in lines:
        rows += [
            [
                names[line.run],
                show_tag(tag.tag),
                show_tag(name_kind(tag.kind, tag.plugin, tag.size)),
                human_count(tag.points),
                *([human_count(tag.hidden)] if has_hidden else []),
                human_span((tag.first_step, tag.last_step) if tag.points else None) or "-",
            ]
            for tag in line.tags
        ]
        rows += [
            [
                names[line.run],
                show_tag(plugin.tag),
                show_tag(name_kind(plugin.kind, plugin.plugin, plugin.size)),
                human_count(plugin.values),
                *(["-"] * (len(columns) - 4)),
            ]
            for plugin in line.unknown
        ]
        blank = ["-"] * (len(columns) - 3)
        rows += [
            [names[line.run], show_tag(name), "embedding", *blank]
            for name in _embeddings(logdir, line)
        ]
    _print(columns, rows)


def _print(ranks: Mapping[Column, int], rows: list[list[str]]) -> None:
    """Print the columns that fit the window, and note the others."""
    columns, limit = list(ranks), width()
    if limit is None or fits_window(columns, rows):
        print_fitted(columns, rows, "")
        return
    fitting = fit_columns(columns, rows, list(ranks.values()), limit)
    print_fitted(list(fitting.columns.values()), fitting.rows, fitting.folder)
    left_out = [column.heading for n, column in enumerate(columns) if n not in fitting.columns]
    if left_out:
        note(f"Columns that do not fit: {human_list(left_out, 12)}. A wider window shows them.")


def _note_left_out(lines: list[RunLine]) -> None:
    for line in lines:
        if line.left_out:
            every = sum(line.kinds.values())
            note(
                f"Run '{escape(line.run)}' has {human_count(every, 'tag')}; these are the first"
                f" {human_count(len(line.tags))}. --json lists all."
            )


def _embeddings(logdir: Logdir, line: RunLine) -> list[str]:
    if line.projector_config is None:
        return []
    from runfold._tables.frames.decoded_values import embeddings_of

    return [embedding.name for embedding in embeddings_of(logdir.logs[line.run])]


def _print_totals(logdir: Logdir, lines: list[RunLine], options: argparse.Namespace) -> None:
    from runfold._tables.frames.unknown_plugins import describe_plugins

    if not logdir.logs:
        note(no_runs(*options.logdirs))
    elif not lines:
        note(no_match(logdir, options.where))
    else:
        points = human_count(sum(line.points for line in lines), "point")
        size = human_bytes(sum(line.size for line in lines))
        note(f"{count_chosen(logdir, len(lines))}, {points}, {size}.")
        for sentence in describe_plugins(plugin for line in lines for plugin in line.plugins):
            note(sentence)
    note_problems(logdir, (logdir.logs[line.run] for line in lines), options.logdirs)


def _kinds(line: RunLine) -> str:
    kinds = [f"{count} {kind}" for kind, count in line.kinds.items()]
    if line.projector_config is not None:
        kinds.append("embeddings")  # only tensorboard's parser can count embeddings
    return ", ".join(kinds) or "-"


def _kinds_in_short(line: RunLine) -> str:
    """Return the first kind, and the number of tags of other kinds."""
    first, *others = [f"{count} {kind}" for kind, count in line.kinds.items()] or ["-"]
    rest = sum(line.kinds.values()) - next(iter(line.kinds.values()), 0)
    return f"{first} +{rest}" if others else first


def _describe(logdir: Logdir, lines: list[RunLine]) -> dict[str, Any]:
    return {
        "paths": [mask_url(str(path)) for path in logdir.paths],
        "restarts": logdir.restarts,
        "runs": [
            {
                "run": line.run,
                "path": line.path,
                "files": line.files,
                "size": line.size,
                "start": line.start,
                "duration": line.duration,
                "points": line.points,
                "hidden": line.hidden,
                "steps": line.steps,
                "kinds": line.kinds,
                "projector_config": line.projector_config,
                "tags": [_describe_tag(tag) for tag in line.tags],
                "unknown": line.unknown,
                "problems": logdir.logs[line.run].list_problems(),
            }
            for line in lines
        ],
        "problems": logdir.problems,
    }


def _describe_tag(tag: TagLine) -> dict[str, Any]:
    return {
        "tag": tag.tag,
        "kind": tag.kind,
        "points": tag.points,
        "hidden": tag.hidden,
        "steps": [tag.first_step, tag.last_step] if tag.points else None,
        **({"plugin": tag.plugin, "size": tag.size} if tag.plugin else {}),
    }
