"""Rolling updates: which units are replaced next when a template changes.

progress    whether an update is in progress
rollout     how far the update of a set may go: which replicas may change, and which of them is current
budget      which units of a clique or scaling group are replaced next: the formula
pods        the pods of a standalone clique as units
copies      the copies of a scaling group as units
replicas    which replica of a set is updated next, and when the update is over
templates   which template a PodClique may have
deadline    when an update last made progress, and the condition that tells
recording   what the status of a clique or group records before a unit is touched
"""
