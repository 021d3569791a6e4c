"""What a process reports about itself.

- `metrics`: the Prometheus metrics of the runtime
- `health`: the HTTP server for probes and metrics
- `logs`: structured log lines
- `current_reconcile`: which reconcile the running task belongs to
"""
