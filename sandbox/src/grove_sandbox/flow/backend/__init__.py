"""The tests that every backend must pass on the embedded cluster, with a whole operator.

================  ==========================================================================
`suite`           `BackendFlow`: subclass it, and name your backend
`setup`           its class attributes, and the cluster and operator of a test
`lifecycle`       gangs are created, scaled, moved to another backend, and deleted
`repair`          edited, deleted and stray objects, lost pods, faulty connections
`steady_state`    a changed queue is written; without a change nothing is written
`isolation`       a scheduler whose CRDs are missing affects no other gang
`scheduling`      gangs are bound whole, or not at all
`queries`         manifests to apply and questions to ask about the cluster
================  ==========================================================================
"""
