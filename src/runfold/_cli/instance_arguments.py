"""Which runs the arguments of `runfold tensorboard start` choose."""

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

_TRIAL = " For the trial of that name write --trial-ids before it."


def choose_sources(options: argparse.Namespace) -> Sources:
    """What `experiments`, `trial_ids`, `where` and `logdir` choose; without them all there is.

    Trials given along with their own experiment narrow it to them. Raises
    UnknownExperiment, UnknownTrial and others, with the near ones.
    """
    from runfold._serve.tensorboards.instance_runs import Sources

    where = options.where or ""
    if where:
        from runfold._tables.by_run.conditions import parse_condition

        parse_condition(where)
    named = options.experiments
    if named and all(map(_is_place, named)):
        if options.trial_ids:
            raise CommandError("--trial-ids goes with --logdir, not with paths of experiments.")
        places = [_place(text, (options.logdir or [default_logdir()])[0]) for text in named]
        return Sources(tuple(dict.fromkeys(places)), where=where)
    logdir = find_logdir(options)
    if is_url(logdir) and not named and not options.trial_ids:
        Places((logdir,))  # which says what is wrong with it; the instance fetches what is there
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
    """The id and name of an experiment; id 0 for a folder in which there is no run yet."""
    try:
        one = experiments.find(text)
    except UnknownExperiment:
        name = text.rstrip("/")
        if name and os.sep not in name and os.path.isdir(os.path.join(experiments.logdir, name)):
            return 0, name
        if _is_path(text):
            raise CommandError(
                f"'{escape(text)}' is a path, and others are names of experiments. Give all of"
                " one sort."
            ) from None
        if os.path.isdir(name):
            raise CommandError(
                f"No experiment '{escape(name)}' in {escape(experiments.logdir)}. For the folder"
                f" {escape(name)} that is here write ./{escape(name)}"
            ) from None
        raise
    return one.id, one.name


def _is_place(text: str) -> bool:
    return is_url(text) or _is_path(text)


def _is_path(text: str) -> bool:
    """Whether an experiment is given by the path of its folder: with a slash, as a shell does."""
    return os.sep in text.rstrip(os.sep) or text in (os.curdir, os.pardir)


def _place(text: str, logdir: str) -> str:
    if is_url(text):
        Places((text,))
        return text
    path = os.path.abspath(os.path.expanduser(text))
    if not os.path.exists(path):
        hint = "" if not os.path.isdir(os.path.join(logdir, text)) else _TRIAL
        raise LogdirNotFound(f"{escape(text)}: there is no such folder.{hint}")
    return path
