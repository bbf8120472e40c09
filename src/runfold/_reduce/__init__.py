"""Runs reduced to one curve per group: grouped, aligned, and summarized by statistics.

Modules:

    groups             the groups of runs
    contributing_runs  the runs of each group that have the tag
    scalar_tags        the tags to reduce
    axes               the x-axes of curves
    curve_points       the points of one series along an x-axis
    run_stack          the points of runs with the same steps, in one array
    align              common x values for all runs
    gaps               the error for runs with different tags or steps
    sample             the aligned values of many runs
    statistics         declarations of all statistics
    operations         names and functions parsed into columns of statistics
    named_reductions   NumPy's reductions and user functions
    bootstrap          confidence intervals by resampling runs
    bands              the statistics that form a line with a band
    fold_pieces        a fold on an engine
    tag_batches        the tags in batches that fit into the memory limit
    windows            folds of tags that do not fit, window by window
    folding            the folds of all tags, batch by batch
    fold               the reduction itself
    folded             its result
    fold_notes         notes and warnings about the result
"""
