"""An embedded Kubernetes cluster in one process, for demos and tests.

=================  ==============================================================================
`cluster`          `EmbeddedCluster`: everything below, together
`apiserver/`       the API server
`kubelet/`         the kubelet of all nodes, and the life cycle of nodes
`schedulers/`      simulated gang schedulers
`nodes`            manifests of nodes
`clock`            a wall clock that follows the event loop
`timestamps`       times as Kubernetes writes them
`label_selectors`  matches labels against selectors
`faults`           injects faults between a client and the API server
`http`             serves the API server on a port
`webhooks`         sends admission reviews over HTTPS
`commands/`        `grove demo` and `grove sandbox`
`flow/`            tests with a whole operator; the tests that a backend must pass in a cluster
`conformance/`     the tests that a backend must pass without a cluster
=================  ==============================================================================
"""
