"""TensorBoard instances that run on a Ray cluster.

Modules:

    cluster_process  the local process of an instance: it owns the actor on the cluster
    node_actor       the actor: it runs TensorBoard on its node
    node_folder      its temporary folder
    node_child       TensorBoard on a node, in its own process
    node_server      its server: encrypted, and with limits for clients without the key
"""
