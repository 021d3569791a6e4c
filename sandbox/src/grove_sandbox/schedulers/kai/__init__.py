"""KAI: `scheduler` runs a round, `job` is one PodGroup, `subgroups` its tree, `queues` the limits of queues."""
