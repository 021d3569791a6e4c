"""KAI Scheduler."""

from grove.schedulers.kai.backend import Kai

__all__ = ["Kai"]
