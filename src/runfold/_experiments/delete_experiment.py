"""The end of an experiment: its folder is removed, at once or not at all."""

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
    """Raise CannotEdit for what cannot be deleted: the logdir itself, or what is in a store.

    Unless forced, also for runs that are being written.
    """
    if experiments.is_remote:
        raise CannotEdit(
            "The experiment lies in a store, of which only a copy is here. Nothing was deleted."
            " Delete it with the store's own tools."
        )
    if experiment.path == experiments.logdir:
        raise CannotEdit(
            "The run lies in the logdir itself, whose folder may hold other things. Nothing was"
            " deleted. Remove its event files by hand."
        )
    # Every folder that would be removed counts, also one that is part of a run.
    folders = discover(experiment.path).runs.values()
    alive = [folder.path for folder in folders if is_alive(folder.path)]
    if alive and not is_forced:
        raise CannotEdit(
            f"Being written: {human_list(alive)}. Nothing was deleted. Stop them with"
            " `runfold stop`, or insist with --force."
        )


def delete_experiment(
    experiments: Experiments, experiment: Experiment, *, is_forced: bool = False
) -> None:
    """Remove the folder of an experiment with all that is in it; its ids are not used again.

    It is gone from the logdir at once, also if this is killed in the middle. A
    link is removed, and what it leads to stays. Raises as `check_deletion` does.
    """
    check_deletion(experiments, experiment, is_forced=is_forced)
    if os.path.islink(experiment.path):
        os.unlink(experiment.path)
        return
    # Out of the logdir's names first: half of an experiment must not look like a whole one.
    grave = os.path.join(experiments.logdir, name_temporary())
    os.mkdir(grave, mode=0o700)
    os.rename(experiment.path, os.path.join(grave, "experiment"))
    shutil.rmtree(grave)
