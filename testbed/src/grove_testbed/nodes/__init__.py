"""Real nodes for a cluster of the testbed: containers, a pod network, Services, cluster DNS.

    with Cluster.start(real_nodes=2) as cluster: ...

A node is a machine in a box (``box``): containerd, kubelet and kube-proxy in namespaces of their own, so that they
use their default paths and ports, and so that the kernel clears up after them. ``requirements`` says what this
machine lacks, ``network`` joins the nodes, ``node`` runs one, ``cluster_nodes`` all of a cluster, ``leftovers``
removes what a killed run could not.
"""
