"""Reads runs with Runfold, in the form that the tests of the adapters compare."""

import runfold as rf


def read_points(run):
    """Return the steps and values of each tag."""
    return {
        tag: list(zip(run[tag].steps.tolist(), run[tag].values.tolist(), strict=True))
        for tag in sorted(set(run.scalars()["tag"]))
    }


def read_steps(run, tag):
    return run[tag].steps.tolist()


def read_hparams(run):
    frame = run.hparams()
    return dict(zip(frame["hparam"], frame["value"], strict=True))


def count_runs_by(folder, hparam):
    """Return the number of runs that were averaged, by the value of an hparam."""
    groups = rf.open(folder).reduce("mean", by=hparam).groups.values()
    return {group.key[hparam]: len(group.runs) for group in groups}
