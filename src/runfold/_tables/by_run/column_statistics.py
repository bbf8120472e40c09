"""The statistics of a tag that a table of runs has as columns."""

STATISTICS = ("last", "first", "best", "best_step", "min", "max", "mean", "auc")
