"""Plain kube-scheduler, with whichever gang API the cluster serves: one module per API, called a dialect."""

from grove.schedulers.kube.backend import Kubernetes

__all__ = ["Kubernetes"]
