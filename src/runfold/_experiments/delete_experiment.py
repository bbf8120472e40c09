"""Atomic deletion of an experiment's folder."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from runfold._conventions import name_temporary
from runfold._edit.live_runs import is_alive
from runfold._humanize import human_list
from runfold._logdir.discover import discover
from runfold.errors import CannotEdit

if TYPE_CHECKING:
    from runfold._experiments.experiment import Experiment, Experiments


def check_deletion(
    experiments: Experiments, experiment: Experiment, *, is_forced: bool = False
) -> None:
    """Raise CannotEdit if the experiment is the logdir itself or in a remote store.

    Unless forced, also raise it if one of the experiment's runs is being written to.
    """
    if experiments.is_remote:
        raise CannotEdit(
            "The experiment is in a remote store, and only a copy is on this machine. Nothing was"
            " deleted. Delete the experiment with the store's own tools."
        )
    if experiment.path == experiments.logdir:
        raise CannotEdit(
            "The run is in the logdir itself, which can contain other files. Nothing was deleted."
            " Remove the run's event files by hand."
        )
    # Check every folder that would be removed, including those that are parts of runs.
    folders = discover(experiment.path).runs.values()
    alive = [folder.path for folder in folders if is_alive(folder.path)]
    if alive and not is_forced:
        raise CannotEdit(
            f"These runs are being written to: {human_list(alive)}. Nothing was deleted."
            " Stop them with `runfold stop`, or pass --force to delete them anyway."
        )


def delete_experiment(
    experiments: Experiments, experiment: Experiment, *, is_forced: bool = False
) -> None:
    """Delete an experiment's folder with its contents; its ids are never reused.

    The folder disappears from the logdir in one step, even if the process is killed. If it is
    a link, only the link is removed. Raises the same errors as `check_deletion`.
    """
    check_deletion(experiments, experiment, is_forced=is_forced)
    if os.path.islink(experiment.path):
        os.unlink(experiment.path)
        return
    # Rename it first: a half-deleted experiment must not look like a complete one.
    temporary = os.path.join(experiments.logdir, name_temporary())
    os.mkdir(temporary, mode=0o700)
    os.rename(experiment.path, os.path.join(temporary, "experiment"))
    shutil.rmtree(temporary)
