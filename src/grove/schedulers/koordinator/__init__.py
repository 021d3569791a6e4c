"""Koordinator (koord-scheduler): `backend` translates gangs, `topology` their constraints."""

from grove.schedulers.koordinator.backend import Koordinator

__all__ = ["Koordinator"]
