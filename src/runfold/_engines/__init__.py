"""Work on a Ray cluster.

Modules:

    ray_cluster  connects to a Ray cluster, and checks that its nodes can do the work
"""
