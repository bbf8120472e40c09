"""Comparison of groups of runs: one score per run, tests, effect sizes and a verdict.

Modules:

    compare      the comparison itself
    score_kinds  the values of a run that can be compared
    scores       one score per run
    task_scores  many tags as tasks of one benchmark
    pairs        comparison of two groups
    permutation  the permutation test
    score_ranks  ranks, the interquartile mean, the Mann-Whitney test
    comparison   the result, as tables
    verdict      the result in words, with warnings
"""
