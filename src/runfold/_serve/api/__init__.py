"""The API routes, one module per topic.

Modules:

    server_status         version, counts, whether runs are still growing
    run_rows              the table of runs
    tag_list              tags of every kind
    curves                scalar points
    folds                 groups of runs reduced to lines with bands
    comparisons           comparisons between groups
    importance            how much each hparam explains a metric
    queries               conditions and SQL
    images                images of a tag
    audio_clips           audio clips of a tag
    texts                 text entries of a tag
    histograms            histograms over steps
    pr_curves_and_meshes  precision-recall curves and meshes
    blobs                 bytes of one image or audio clip
    marks                 events marked by runs
    problem_list          problems in the logs
    run_details           details of a run, its output, and a diff of two runs
    saved_views           saved views and queries
    stop_runs             stopping runs from the page
"""
