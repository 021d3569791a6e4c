"""An embedded Kubernetes: API server, kubelet and gang schedulers for demos, simulations and tests."""
