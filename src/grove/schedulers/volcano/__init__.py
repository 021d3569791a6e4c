"""Volcano: `backend` translates gangs, `topology` their constraints."""

from grove.schedulers.volcano.backend import Volcano

__all__ = ["Volcano"]
