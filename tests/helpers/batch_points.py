"""Runs that log batches, and their points."""

import runfold as rf


def track(folder, **options):
    return rf.track(folder, code=False, system=False, **options)


def points(folder):
    """Return the steps and values of each tag in the run, except tags that depend on time."""
    run = rf.open(folder)["."]
    tags = [tag for tag in run.tags["scalar"] if not tag.endswith("seconds")]
    tags = [tag for tag in tags if not tag.endswith("per_second")]
    return {
        tag: list(zip(run[tag].steps.tolist(), run[tag].values.tolist(), strict=True))
        for tag in tags
    }
