"""Volcano: `scheduler` runs a round, `job` is one PodGroup, `hypernodes` the network topology."""
