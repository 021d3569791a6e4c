"""kube-scheduler of plain Kubernetes.

backend               the backend: which dialect a gang gets, and what all dialects share
dialect               the contract of a dialect, one of the gang APIs that kube-scheduler has had
composite_podgroup    dialect of Kubernetes 1.37 with CompositePodGroups: a tree of PodGroups (`gang_tree`)
podgroup_v1beta1      dialect of Kubernetes 1.37 without them
podgroup_v1alpha2     dialect of Kubernetes 1.36
workload_v1alpha1     dialect of Kubernetes 1.35
no_gang_api           dialect of clusters without a gang API
single_podgroup       what the dialects share that have one PodGroup for a whole gang
pod_link, fields      the fields that tie pods to PodGroups; fields that several dialects write
observation, priorities, validation, variants, settings
"""

from grove.schedulers.kube.backend import Kubernetes

__all__ = ["Kubernetes"]
