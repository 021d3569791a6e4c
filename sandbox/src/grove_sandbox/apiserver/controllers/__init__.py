"""Controllers that run in every cluster, here inside the server.

=======================  ===================================================================
`garbage_collector`      deletes dependents, handles foreground deletion and orphaning
`namespaces`             default service accounts, and emptying a namespace that is deleted
`pod_group_protection`   keeps a PodGroup that pods still use
`bootstrap`              the objects that a new cluster has
=======================  ===================================================================
"""
