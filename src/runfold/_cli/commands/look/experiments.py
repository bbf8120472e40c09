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
List and organize experiments.

An experiment is a folder directly below the logdir, and its trials are the runs
in it. A run directly below the logdir is an experiment with one trial.
Experiments and trials have short ids that never change. Specify an experiment
by its id, its name, or a unique prefix of its name. The default action is list.

Example:
  runfold experiments list --logdir demo-runs

Exit status: 0, or 2 if an experiment or path does not exist.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the actions and their options."""
    add_actions(parser, ACTIONS)


def run(options: argparse.Namespace) -> int:
    """Run the action."""
    status: int = options.run(options)
    return status


def _add_list(parser: Parser) -> None:
    parser.add_logdir(is_only=True)
    parser.add_argument(
        "--all", "-a", action="store_true", help="Include archived experiments. Default: off."
    )
    parser.add_argument(
        "--label", metavar="LABEL", help="Only experiments with this label. Default: all."
    )
    parser.add_json()


def _list(options: argparse.Namespace) -> int:
    from runfold._experiments import open_experiments

    logdir = find_logdir(options)
    experiments = open_experiments(logdir)
    labeled = [
        experiment
        for experiment in experiments.all
        if options.label is None or options.label in experiment.labels
    ]
    shown = [experiment for experiment in labeled if options.all or not experiment.is_archived]
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
        print_table(columns, [_describe(experiment) for experiment in shown])
    left_out = len(labeled) - len(shown)
    if not experiments.all:
        note(f"No experiments in '{show_url(logdir)}': no file there has 'tfevents' in its name.")
    elif left_out:
        note(f"{human_count(len(shown), 'experiment')}; --all lists {left_out} more.")
    return 0


def _describe(experiment: Experiment) -> list[str]:
    from runfold._edit.live_runs import is_alive

    running = sum(is_alive(trial.path) for trial in experiment.trials)
    name = escape(experiment.name, 10_000) + (" (archived)" if experiment.is_archived else "")
    first_line = experiment.note.partition("\n")[0]
    return [
        str(experiment.id),
        name,
        human_count(len(experiment.trials)),
        str(running or "-"),
        escape(", ".join(experiment.labels)) or "-",
        escape(first_line) or "-",
    ]


def add_experiment(parser: Parser) -> None:
    """Declare the EXPERIMENT argument."""
    parser.add_argument(
        "experiment",
        metavar="EXPERIMENT",
        help="Experiment id or name, or a unique prefix of the name.",
    )


def _add_show(parser: Parser) -> None:
    add_experiment(parser)
    parser.add_logdir(is_only=True)
    parser.add_json()


def _show(options: argparse.Namespace) -> int:
    experiment = _open(options).find(options.experiment)
    if options.json:
        print_json(experiment)
        return 0
    suffix = " (archived)" if experiment.is_archived else ""
    print(f"Experiment {experiment.id}: {escape(experiment.name)}{suffix}")
    print(f"Folder: {escape(experiment.path)}")
    if experiment.labels:
        print(f"Labels: {escape(', '.join(experiment.labels))}")
    for line in experiment.note.splitlines():
        print(f"  {escape(line, 1000)}")
    print()
    print_trials(experiment)
    return 0


def print_trials(experiment: Experiment) -> None:
    """Print an experiment's trials, and whether each is running."""
    from runfold._edit.live_runs import is_alive

    columns = [
        Column("id", is_number=True),
        Column("trial", is_name=True),
        Column("running"),
    ]
    names = show_names(trial.name for trial in experiment.trials)
    rows = [
        [str(trial.id), names[trial.name], "yes" if is_alive(trial.path) else "-"]
        for trial in experiment.trials
    ]
    print_table(columns, rows)


def _add_experiments(parser: Parser) -> None:
    parser.add_argument(
        "experiments",
        nargs="+",
        metavar="EXPERIMENT",
        help="Experiment ids or names, or unique prefixes of names.",
    )
    parser.add_logdir(is_only=True)


def _add_archive(parser: Parser) -> None:
    _add_experiments(parser)
    parser.add_argument(
        "--undo",
        action="store_true",
        help="Show archived experiments in lists again. Default: off.",
    )


def _archive(options: argparse.Namespace) -> int:
    experiments = _open(options)
    for experiment in [experiments.find(text) for text in options.experiments]:
        experiments.archive(experiment, not options.undo)
        _record("archive" if not options.undo else "unarchive", experiment)
    return 0


def _add_delete(parser: Parser) -> None:
    _add_experiments(parser)
    parser.add_argument(
        "--yes", "-y", action="store_true", help="Do not ask for confirmation. Default: off."
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="Delete experiments even if they are being written to. Default: off.",
    )


def _delete(options: argparse.Namespace) -> int:
    from runfold._experiments.delete_experiment import check_deletion, delete_experiment

    experiments = _open(options)
    # Check all experiments before deleting any.
    selected = list(dict.fromkeys(experiments.find(text) for text in options.experiments))
    for experiment in selected:
        check_deletion(experiments, experiment, is_forced=options.force)
    if not options.yes:
        _confirm(selected)
    for experiment in selected:
        delete_experiment(experiments, experiment, is_forced=options.force)
        _record("delete", experiment)
    return 0


def _confirm(selected: list[Experiment]) -> None:
    trials = human_count(sum(len(experiment.trials) for experiment in selected), "trial")
    names = human_list(experiment.name for experiment in selected)
    if not sys.stdin.isatty():
        raise CommandError(f"This would delete {names} with {trials}. Pass --yes to confirm.")
    print(f"Delete {names} with {trials} and all other files inside? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was deleted.")


def _add_label(parser: Parser) -> None:
    add_experiment(parser)
    parser.add_argument("labels", nargs="*", metavar="LABEL", help="Labels to add.")
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
    experiment = experiments.find(options.experiment)
    for label in options.remove:
        if label not in experiment.labels:
            known = (
                f"Existing labels: {human_list(experiment.labels)}."
                if experiment.labels
                else "The experiment has no labels."
            )
            raise CommandError(
                f"'{escape(experiment.name)}' has no label '{escape(label)}'. {known}"
            )
    experiments.label(experiment, options.labels, options.remove)
    print(escape(", ".join(experiments.find(str(experiment.id)).labels)))
    return 0


def _add_note(parser: Parser) -> None:
    add_experiment(parser)
    parser.add_argument(
        "text", nargs="?", metavar="TEXT", help='New note; "" deletes it. Default: print the note.'
    )
    parser.add_logdir(is_only=True)


def _note(options: argparse.Namespace) -> int:
    experiments = _open(options)
    experiment = experiments.find(options.experiment)
    if options.text is None:
        print(escape(experiment.note, 10_000) if experiment.note else "")
    else:
        experiments.note(experiment, options.text)
    return 0


def _open(options: argparse.Namespace) -> Experiments:
    from runfold._experiments import open_experiments

    return open_experiments(find_logdir(options))


def _record(action: str, experiment: Experiment) -> None:
    from runfold._story.audit_log import record_action

    record_action(f"experiment {action}", experiment.path, how="command")


ACTIONS = {
    "list": Action("List experiments.", _add_list, _list),
    "show": Action("Show an experiment and its trials.", _add_show, _show),
    "archive": Action("Hide experiments from lists.", _add_archive, _archive),
    "delete": Action("Delete experiments and their folders.", _add_delete, _delete),
    "label": Action("Add labels to an experiment, or remove them.", _add_label, _label),
    "note": Action("Print or set the note of an experiment.", _add_note, _note),
}
