"""Experiments, the first folders below a logdir, and their trials, by short ids.

Modules:

    experiment         experiments and trials of a logdir, and how to name them
    experiment_index   their ids, labels and notes
    index_file         the file of the index, locked and replaced
    index_places       where this file is
    delete_experiment  removing an experiment, at once or not at all
"""

from runfold._experiments.experiment import Experiment, Experiments, Trial, open_experiments

__all__ = ["Experiment", "Experiments", "Trial", "open_experiments"]
