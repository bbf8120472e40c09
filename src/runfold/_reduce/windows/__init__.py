"""Folds of tags whose points do not fit into memory, window by window of x values.

The results are the same, to the last bit, as those of the whole curves.

Modules:

    pieces        the points of a run in a window of x values
    outline       what is known about the points of a run after they have been decoded once
    window_plan   windows whose points fit into memory
    column_fold   the statistics of a curve whose values arrive window by window
    stretches     where the points of a window are in the files of a run
    window_folds  the curves of some tags
"""
