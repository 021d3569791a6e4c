"""Plain kube-scheduler."""

from grove.schedulers.kube.backend import Kubernetes

__all__ = ["Kubernetes"]
