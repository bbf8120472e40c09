"""Experiments, the first folders below a logdir, and their trials, the runs there, by short ids."""

from runfold.experiments.experiment import Experiment, Experiments, Trial, open_experiments

__all__ = ["Experiment", "Experiments", "Trial", "open_experiments"]
