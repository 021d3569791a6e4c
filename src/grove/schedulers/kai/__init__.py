"""KAI Scheduler: `backend` translates gangs, `subgroups` builds the tree of subgroups in a PodGroup."""

from grove.schedulers.kai.backend import Kai

__all__ = ["Kai"]
