"""Experiments (the folders directly below a logdir) and their trials, with short ids.

Modules:

    experiment         experiments and trials of a logdir, by id or name
    experiment_index   their ids, labels and notes
    index_file         the index's file, with locks and atomic replacement
    index_places       the location of this file
    delete_experiment  atomic deletion of an experiment
"""

from runfold._experiments.experiment import Experiment, Experiments, Trial, open_experiments

__all__ = ["Experiment", "Experiments", "Trial", "open_experiments"]
