"""The command `runfold experiments`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from runfold._cli.logdir_option import find_logdir
from runfold._cli.subcommands import Action, add_actions
from runfold._cli.terminal import Column, CommandError, note, print_json, print_table, show_names
from runfold._humanize import escape, human_count, human_list
from runfold._storage.url import show_url

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser
    from runfold._experiments import Experiment, Experiments

HELP = """\
List experiments, and keep them in order.

An experiment is a folder directly below the logdir, and the runs in it are its
trials; a run that lies there itself is an experiment with one trial. Both have
short ids, which stay the same when more appear. Wherever an experiment is asked
for, its id, its name, or the beginning of its name will do. Without an action
they are listed.

Example:
  runfold experiments list --logdir demo-runs

Exit status: 0, or 2 for an experiment or a path that is not there.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the actions and their options."""
    add_actions(parser, ACTIONS)


def run(options: argparse.Namespace) -> int:
    """Do what was asked for."""
    status: int = options.run(options)
    return status


def _add_list(parser: Parser) -> None:
    parser.add_logdir(is_only=True)
    parser.add_argument("--all", "-a", action="store_true", help="Archived ones too. Default: off.")
    parser.add_argument(
        "--label", metavar="LABEL", help="Only those with this label. Default: all."
    )
    parser.add_json()


def _list(options: argparse.Namespace) -> int:
    from runfold._experiments import open_experiments

    logdir = find_logdir(options)
    experiments = open_experiments(logdir)
    shown = [
        one
        for one in experiments.all
        if (options.all or not one.is_archived)
        and (options.label is None or options.label in one.labels)
    ]
    if options.json:
        print_json(shown)
        return 0
    if shown:
        columns = [
            Column("id", is_number=True),
            Column("experiment", is_name=True),
            Column("trials", is_number=True),
            Column("running", is_number=True),
            Column("labels", may_shrink=True),
            Column("note", may_shrink=True),
        ]
        print_table(columns, [_describe(one) for one in shown])
    left_out = len(experiments.all) - len(shown)
    if not experiments.all:
        note(f"No experiments in '{show_url(logdir)}': no file there has 'tfevents' in its name.")
    elif left_out:
        note(f"{human_count(len(shown), 'experiment')}; {left_out} more with --all.")
    return 0


def _describe(one: Experiment) -> list[str]:
    from runfold._edit.live_runs import is_alive

    running = sum(is_alive(trial.path) for trial in one.trials)
    name = escape(one.name, 10_000) + (" (archived)" if one.is_archived else "")
    first_line = one.note.partition("\n")[0]
    return [
        str(one.id),
        name,
        human_count(len(one.trials)),
        str(running or "-"),
        escape(", ".join(one.labels)) or "-",
        escape(first_line) or "-",
    ]


def _add_one(parser: Parser) -> None:
    parser.add_argument("experiment", metavar="EXPERIMENT", help="An id, a name or its beginning.")
    parser.add_logdir(is_only=True)
    parser.add_json()


def _show(options: argparse.Namespace) -> int:
    one = _open(options).find(options.experiment)
    if options.json:
        print_json(one)
        return 0
    print(f"Experiment {one.id}: {escape(one.name)}{' (archived)' if one.is_archived else ''}")
    print(f"Folder: {escape(one.path)}")
    if one.labels:
        print(f"Labels: {escape(', '.join(one.labels))}")
    for line in one.note.splitlines():
        print(f"  {escape(line, 1000)}")
    print()
    print_trials(one)
    return 0


def print_trials(one: Experiment) -> None:
    """Print the trials of an experiment, and which of them run."""
    from runfold._edit.live_runs import is_alive

    columns = [
        Column("id", is_number=True),
        Column("trial", is_name=True),
        Column("running"),
    ]
    names = show_names(trial.name for trial in one.trials)
    rows = [
        [str(trial.id), names[trial.name], "yes" if is_alive(trial.path) else "-"]
        for trial in one.trials
    ]
    print_table(columns, rows)


def _add_some(parser: Parser) -> None:
    parser.add_argument(
        "experiments", nargs="+", metavar="EXPERIMENT", help="Ids, names or their beginnings."
    )
    parser.add_logdir(is_only=True)


def _add_archive(parser: Parser) -> None:
    _add_some(parser)
    parser.add_argument(
        "--undo", action="store_true", help="Take them into lists again. Default: off."
    )


def _archive(options: argparse.Namespace) -> int:
    experiments = _open(options)
    for one in [experiments.find(text) for text in options.experiments]:
        experiments.archive(one, not options.undo)
        _record("archive" if not options.undo else "unarchive", one)
    return 0


def _add_delete(parser: Parser) -> None:
    _add_some(parser)
    parser.add_argument("--yes", "-y", action="store_true", help="Do not ask. Default: off.")
    parser.add_argument(
        "--force", action="store_true", help="Also those that are being written. Default: off."
    )


def _delete(options: argparse.Namespace) -> int:
    from runfold._experiments.delete_experiment import check_deletion, delete_experiment

    experiments = _open(options)
    # All are looked at first: a refusal of the last must not come after the first is gone.
    doomed = list(dict.fromkeys(experiments.find(text) for text in options.experiments))
    for one in doomed:
        check_deletion(experiments, one, is_forced=options.force)
    if not options.yes:
        _ask(doomed)
    for one in doomed:
        delete_experiment(experiments, one, is_forced=options.force)
        _record("delete", one)
    return 0


def _ask(doomed: list[Experiment]) -> None:
    trials = human_count(sum(len(one.trials) for one in doomed), "trial")
    names = human_list(one.name for one in doomed)
    if not sys.stdin.isatty():
        raise CommandError(f"This would delete {names} with {trials}. Insist with --yes.")
    print(f"Delete {names} with {trials} and all other files there? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was deleted.")


def _add_label(parser: Parser) -> None:
    parser.add_argument("experiment", metavar="EXPERIMENT", help="An id, a name or its beginning.")
    parser.add_argument("labels", nargs="*", metavar="LABEL", help="To put on it.")
    parser.add_argument(
        "--remove",
        action="append",
        default=[],
        metavar="LABEL",
        help="Remove this label (repeatable). Default: none.",
    )
    parser.add_logdir(is_only=True)


def _label(options: argparse.Namespace) -> int:
    experiments = _open(options)
    one = experiments.find(options.experiment)
    for label in options.remove:
        if label not in one.labels:
            known = f"It has {human_list(one.labels)}." if one.labels else "It has none."
            raise CommandError(f"'{escape(one.name)}' has no label '{escape(label)}'. {known}")
    experiments.label(one, options.labels, options.remove)
    print(escape(", ".join(experiments.find(str(one.id)).labels)))
    return 0


def _add_note(parser: Parser) -> None:
    parser.add_argument("experiment", metavar="EXPERIMENT", help="An id, a name or its beginning.")
    parser.add_argument(
        "text", nargs="?", metavar="TEXT", help='The note; "" for none. Default: print it.'
    )
    parser.add_logdir(is_only=True)


def _note(options: argparse.Namespace) -> int:
    experiments = _open(options)
    one = experiments.find(options.experiment)
    if options.text is None:
        print(escape(one.note, 10_000) if one.note else "")
    else:
        experiments.note(one, options.text)
    return 0


def _open(options: argparse.Namespace) -> Experiments:
    from runfold._experiments import open_experiments

    return open_experiments(find_logdir(options))


def _record(action: str, one: Experiment) -> None:
    from runfold._story.audit_log import record_action

    record_action(f"experiment {action}", one.path, how="command")


ACTIONS = {
    "list": Action("List the experiments.", _add_list, _list),
    "show": Action("Show one experiment with its trials.", _add_one, _show),
    "archive": Action("Leave experiments out of lists.", _add_archive, _archive),
    "delete": Action(
        "Delete experiments, with all that is in their folders.", _add_delete, _delete
    ),
    "label": Action("Put labels on an experiment.", _add_label, _label),
    "note": Action("Keep a note on an experiment.", _add_note, _note),
}
