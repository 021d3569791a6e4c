"""Real Kubernetes for tests: control planes and schedulers, built once from their Go modules.

    from grove_testbed import Cluster

    with Cluster.start(k8s="1.37") as cluster:
        cluster.kubectl("get", "namespaces")

- ``cluster`` runs a control plane: ``flags``, ``access``, ``pki``, ``ports``, ``processes``, ``leash``
- ``schedulers`` runs a scheduler beside it; ``machines`` and ``heartbeats`` are fake nodes, ``nodes`` real ones
- ``components`` names what can be built, ``build`` fills the cache of binaries, ``toolchain`` finds Go
- ``proxy`` misbehaves between client and server, ``accounting`` counts requests, ``sessions`` is a plain HTTP session
- ``fixtures``, ``selection`` and ``results`` are the pytest plugin; ``cli`` is the command ``grove-testbed``

Nothing here ships with the operator.
"""
