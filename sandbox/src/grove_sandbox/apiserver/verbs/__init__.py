"""What a client can do to a resource.

================  ======================================================================
`reads`           get, and list with pages
`watches`         watch: a position in the history of a table
`selectors`       label and field selectors of list, watch and deletecollection
`writes`          create and update, the path of every write to the store
`deletes`         delete: grace periods, finalizers, propagation policy, preconditions
`subresources`    routes scale, binding, eviction and finalize
`scale`           the `autoscaling/v1` Scale of an object
`bindings`        binding a pod to a node
`reviews`         access and token reviews, which always say yes
================  ======================================================================
"""
