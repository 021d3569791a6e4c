"""Simulated gang schedulers, each reading only what the real one reads.

`policy.py` says what one is, one module per scheduler turns that scheduler's own objects and pod metadata into gangs,
`gangs.py` and `cluster.py` place them, `simulator.py` runs a policy against any API server. A wrong translation
therefore shows as it would in a real cluster: as a pod that does not bind.
"""
