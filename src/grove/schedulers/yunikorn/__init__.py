"""Apache YuniKorn."""

from grove.schedulers.yunikorn.backend import YuniKorn

__all__ = ["YuniKorn"]
