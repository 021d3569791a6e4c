"""A kubelet without containers.

==================  ====================================================================================
`kubelet`           runs the pods of all nodes: starts, readies, restarts and stops them
`script`            annotations by which a pod asks for a slow start, a crash, an image error, ...
`status`            the pod status that a kubelet writes
`node_lifecycle`    readiness, loss and removal of nodes, with the eviction of their pods
`objects`           the fields of pods and nodes that are read here
==================  ====================================================================================
"""
