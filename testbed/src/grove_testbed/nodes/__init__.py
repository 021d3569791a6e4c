"""Real nodes for a cluster of the testbed: containers, a pod network, Services, cluster DNS.

    with Cluster.start(real_nodes=2) as cluster: ...

A node is a machine in a box (``box``): containerd, kubelet and kube-proxy in namespaces of their own, so that they
use their default paths and ports, and so that the kernel clears up after them.

- ``requirements`` says what this machine lacks
- ``box`` runs a machine, ``enter`` runs a program inside it, ``cgroups`` are its cgroups
- ``addresses`` and ``network``: the wire between the nodes; ``dns``: cluster DNS
- ``configuration``: the files of a node, ``node`` runs one, ``cluster_nodes`` all of a cluster
- ``images`` writes container images, ``base_image`` makes one with Python
- ``leftovers`` removes what a killed run could not
"""
