"""Real Kubernetes for tests: control planes and schedulers, built once from their Go modules.

    from grove_testbed import Cluster

    with Cluster.start(k8s="1.37") as cluster:
        cluster.kubectl("get", "namespaces")

``components`` names what can be built, ``build`` fills the cache of binaries, ``cluster`` runs them.
Nothing here ships with the operator.
"""
