"""The routes of the API, one module for each family of them.

Modules:

    server_status         version, counts, and whether runs grow
    run_rows              the table of runs
    tag_list              the tags of every kind
    curves                scalar points
    folds                 groups folded into lines with bands
    comparisons           groups compared
    importance            how much hparams explain a metric
    queries               conditions and SQL
    images                images of a tag
    audio_clips           clips of a tag
    texts                 texts of a tag
    histograms            histograms over steps
    pr_curves_and_meshes  precision-recall curves and meshes
    blobs                 the bytes of one picture or clip
    marks                 events that runs marked
    problem_list          problems of the logs
    run_details           one run, its output, and two runs next to each other
    saved_views           views and queries that a person saved
    stop_runs             runs stopped from the page
"""
