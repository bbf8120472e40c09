"""The logdir, run and tag arguments of `runfold show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._cli.logdir_option import RUNS, default_logdir, find_logdirs, is_path, only_logdir
from runfold._cli.terminal import CommandError, as_typed, no_runs
from runfold._humanize import did_you_mean, escape, human_count, human_list
from runfold._storage.url import show_url
from runfold.errors import UnknownRun

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runfold._logdir.loader import Logdir
    from runfold._logdir.run_log import RunLog

GRAPH = "graph"
# The maximum numbers of runs and tags that a message lists.
_MOST_RUNS = 10
_MOST_TAGS = 30


def open_named(options: argparse.Namespace) -> tuple[str, Logdir, list[str]]:
    """Return the logdir's path, the logdir, and the words after it."""
    from runfold._pack.open_logdir import open_logdir

    words: list[str] = options.words
    if options.logdir:
        path = only_logdir(find_logdirs([], options))
        return path, open_logdir(path, restarts=options.restarts), words
    if is_path(words[0]):
        logdir = open_logdir(words[0], restarts=options.restarts)
        # A tag can have the same name as an unrelated folder here.
        if len(words) > 1 or logdir.logs:
            return words[0], logdir, words[1:]
    if len(words) == 2 and default_logdir() == RUNS:
        logdir = open_logdir(RUNS, restarts=options.restarts)
        if words[0] in logdir.logs or logdir.explain_part(words[0]):
            return only_logdir(find_logdirs([], options)), logdir, words
        if hint := did_you_mean(words[0], list(logdir.logs)):
            raise UnknownRun(
                f"'{escape(words[0])}' is neither a path nor a run in '{RUNS}'. {hint}"
            )
    count = min(len(words) - 1, 1)
    path = only_logdir(find_logdirs(words[:count], options))
    return path, open_logdir(path, restarts=options.restarts), words[count:]


def find_run(logs: Mapping[str, RunLog], path: str, names: list[str]) -> tuple[RunLog, str]:
    """Return the run and the tag that the names refer to."""
    runs = list(logs)
    if not runs:
        raise CommandError(no_runs(path))
    if len(names) > 2:
        raise CommandError("Expected a run and a tag. Put names with spaces in quotes.")
    if not names:
        raise CommandError(_list_choices(logs, path))
    if len(names) == 1 and len(runs) > 1:
        if (log := logs.get(names[0])) is not None:
            raise CommandError(missing_tag(log))
        example = f"`runfold show {as_typed(path, runs[0], names[0])}`"
        count = f"There are {human_count(len(runs), 'run')} in '{show_url(path)}'"
        raise CommandError(f"{count}: put the run before the tag, as in {example}.")
    name = names[0] if len(names) == 2 else runs[0]
    if name not in logs:
        hint = did_you_mean(name, runs) or f"`runfold ls {as_typed(path)}` lists them."
        raise UnknownRun(f"No run '{escape(name)}' in '{show_url(path)}'. {hint}")
    return logs[name], names[-1]


def missing_tag(log: RunLog) -> str:
    """Return the message for a run that is given without a tag."""
    return f"Specify a tag after the run '{escape(log.name)}': {human_list(names_of(log))}."


def _list_choices(logs: Mapping[str, RunLog], path: str) -> str:
    """Return a message that lists the first runs of a logdir and their tags."""
    runs = list(logs)
    # Read only the runs that the message lists.
    named = [names_of(logs[run]) for run in runs[:_MOST_RUNS]]
    tags = list(dict.fromkeys(tag for names in named for tag in names))
    listed = f"Tags: {human_list(tags, _MOST_TAGS)}." if tags else "There are no tags."
    if len(runs) == 1:
        return f"Specify a tag: `runfold show {as_typed(path)} TAG`. {listed}"
    return (
        f"Specify a run and a tag: `runfold show {as_typed(path)} RUN TAG`."
        f" Runs: {human_list(runs, _MOST_RUNS)}. {listed}"
    )


def names_of(log: RunLog) -> list[str]:
    """Return the names of a run's values: their tags, and `graph` for a graph without a tag."""
    untagged = [GRAPH] if (GRAPH, "") in log.payloads else []
    tags = [tag for tag, kinds in log.tag_kinds().items() if tag or kinds != [GRAPH]]
    return list(dict.fromkeys([*tags, *untagged]))
