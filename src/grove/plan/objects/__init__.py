"""The objects that Grove creates for a set.

cliques        PodCliques and PodCliqueScalingGroups
podgangs       PodGangs
pods           pods, as they are posted to the API server
pod_draft      what a scheduler backend decides about pods before they are built
podspec        edits a pod template and keeps the bytes that it does not touch
startup        the init container that makes a pod wait for the cliques before it
access         the service account and token that this init container needs
services       the headless Service of each replica
autoscaling    HorizontalPodAutoscalers
claims         ResourceClaims that pods share
mnnvl          ComputeDomains, for NVLink across nodes
metadata       the metadata of objects whose kinds are not Grove's own
"""
