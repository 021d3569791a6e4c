"""The objects that a set is made of: cliques, pods, services, autoscalers, claims, access for ordered starts."""
