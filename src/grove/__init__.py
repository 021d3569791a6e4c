"""Grove: gang scheduling for any Kubernetes scheduler."""

__version__ = "0.1.0.dev0"
