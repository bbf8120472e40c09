"""Many runs folded into one curve per group: grouped, aligned, turned into statistics.

Modules:

    groups             which runs are folded together
    contributing_runs  the runs of each group that have the tag
    scalar_tags        which tags are folded
    axes               the x-axes of curves
    curve_points       the points of one series along the chosen x-axis
    align              the same x for all runs, and which run has a value where
    gaps               what a strict fold refuses
    sample             the aligned values of many runs
    statistics         every statistic, declared once
    operations         names and functions of the caller to columns of statistics
    named_reductions   NumPy's reductions and functions of the caller
    bootstrap          confidence intervals by resampling runs
    bands              which statistics make a line with a band
    fold               the fold itself
    folded             its result
    fold_notes         what a fold reports besides its numbers
"""
