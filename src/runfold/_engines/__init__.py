"""Work on a Ray cluster.

Modules:

    ray_cluster  connects to a Ray cluster, and checks that its nodes can do the work
    ray_engine   divides the work on runs into Ray's tasks
    ray_tasks    the tasks
    sent_run     runs on their way to another process
"""
