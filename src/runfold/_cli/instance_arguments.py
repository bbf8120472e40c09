"""The runs selected by the arguments of `runfold tensorboard start`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold._cli.logdir_option import default_logdir, find_logdir
from runfold._cli.terminal import CommandError
from runfold._humanize import escape
from runfold._storage.local_paths import Places
from runfold._storage.url import is_url
from runfold.errors import LogdirNotFound, UnknownExperiment

if TYPE_CHECKING:
    import argparse

    from runfold._experiments import Experiments
    from runfold._serve.tensorboards.instance_runs import Sources

_TRIAL = " To select the trial with that name, put --trial-ids before the name."


def choose_sources(options: argparse.Namespace) -> Sources:
    """Return the runs that the options select; all runs by default.

    If an experiment is given together with some of its trials, only these trials are
    selected. Raises UnknownExperiment, UnknownTrial or another error that lists near matches.
    """
    from runfold._serve.tensorboards.instance_runs import Sources

    where = options.where or ""
    if where:
        from runfold._tables.by_run.conditions import parse_condition

        parse_condition(where)
    named = options.experiments
    if named and all(map(_is_path_or_url, named)):
        if options.trial_ids:
            raise CommandError("--trial-ids works with --logdir, not with paths of experiments.")
        paths = [_check_path(text, (options.logdir or [default_logdir()])[0]) for text in named]
        return Sources(tuple(dict.fromkeys(paths)), where=where)
    logdir = find_logdir(options)
    if is_url(logdir) and not named and not options.trial_ids:
        Places((logdir,))  # raises if the URL is wrong; the instance fetches the files later
        return Sources((logdir,), where=where)

    from runfold._experiments import open_experiments

    experiments = open_experiments(logdir)
    trials = [experiments.find_trial(text) for text in options.trial_ids or ()]
    narrowed = {trial.experiment for trial in trials}
    chosen = [
        name for id, name in (_find(experiments, text) for text in named) if id not in narrowed
    ]
    return Sources(
        (logdir if is_url(logdir) else experiments.logdir,),
        tuple(dict.fromkeys(trial.name for trial in trials)) or None,
        tuple(dict.fromkeys(chosen)),
        where,
    )


def _find(experiments: Experiments, text: str) -> tuple[int, str]:
    """Return an experiment's id and name; id 0 for a folder that has no runs yet."""
    try:
        experiment = experiments.find(text)
    except UnknownExperiment:
        name = text.rstrip("/")
        if name and os.sep not in name and os.path.isdir(os.path.join(experiments.logdir, name)):
            return 0, name
        if _is_path(text):
            raise CommandError(
                f"'{escape(text)}' is a path, but other arguments are experiment names. Use only"
                " paths or only names."
            ) from None
        if os.path.isdir(name):
            raise CommandError(
                f"No experiment '{escape(name)}' in {escape(experiments.logdir)}. To use the"
                f" folder {escape(name)} in the current folder, write ./{escape(name)}"
            ) from None
        raise
    return experiment.id, experiment.name


def _is_path_or_url(text: str) -> bool:
    return is_url(text) or _is_path(text)


def _is_path(text: str) -> bool:
    """Return whether text is a path rather than a name: it contains a slash, or is '.' or '..'."""
    return os.sep in text.rstrip(os.sep) or text in (os.curdir, os.pardir)


def _check_path(text: str, logdir: str) -> str:
    """Return an absolute path, or a URL unchanged. Raises LogdirNotFound for a missing folder."""
    if is_url(text):
        Places((text,))
        return text
    path = os.path.abspath(os.path.expanduser(text))
    if not os.path.exists(path):
        hint = "" if not os.path.isdir(os.path.join(logdir, text)) else _TRIAL
        raise LogdirNotFound(f"{escape(text)}: no such folder.{hint}")
    return path
