"""Koordinator (koord-scheduler)."""

from grove.schedulers.koordinator.backend import Koordinator

__all__ = ["Koordinator"]
