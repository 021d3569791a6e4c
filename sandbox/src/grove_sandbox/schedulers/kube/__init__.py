"""kube-scheduler: `scheduler` with the native gang kinds of 1.36 and 1.37, `scheduler_135` for 1.34 and 1.35."""
