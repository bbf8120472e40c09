"""Real Ray clusters on this machine, with little memory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray.cluster_utils import Cluster

# The smallest object store that Ray accepts takes 75 MB.
STORE = 100 << 20


@contextmanager
def quiet_cluster(
    nodes: int = 0, cpus: int = 1, environment: dict[str, str] | None = None, **options: Any
) -> Iterator[Cluster]:
    """Yield a cluster with a head node and this many others, which ends with the block.

    The other nodes have additional environment variables. `options` are additional settings of
    the head node.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    head = {
        "num_cpus": cpus,
        "object_store_memory": STORE,
        "include_dashboard": False,
        "dashboard_port": 0,
        **options,
    }
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(nodes):
            add_node(cluster, environment)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def add_node(cluster: Cluster, environment: dict[str, str] | None = None) -> Any:
    """Add a node with one core, and return it."""
    return cluster.add_node(num_cpus=1, object_store_memory=STORE, env_vars=environment or {})
