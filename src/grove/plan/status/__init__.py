"""The status of every kind, computed from what was observed.

clique_status      PodClique, from its pods
group_status       PodCliqueScalingGroup, from its PodCliques
gang_status        PodGang, from its pods
set_status         PodCliqueSet, from summaries of its replicas
topology_status    ClusterTopologyBinding, from the schedulers' topology objects
conditions         reading and writing a list of conditions, as Kubernetes does it
"""
