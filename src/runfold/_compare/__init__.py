"""Groups of runs compared: one score per run, tests, effect sizes and a verdict.

Modules:

    compare      the comparison itself
    score_kinds  which values of a run can be compared
    scores       one score per run
    task_scores  many tags as tasks of one benchmark
    pairs        two groups against each other
    permutation  the permutation test
    score_ranks  ranks, the interquartile mean, Mann and Whitney's test
    comparison   the result, as tables
    verdict      the result in words, and what makes it doubtful
"""
