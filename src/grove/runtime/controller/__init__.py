"""From a change to the keys that it concerns, to a reconcile, to many writes; and the process around it.

- `triggers`: which changes enqueue which keys, and why
- `queue`: the work queue
- `controller`: workers that reconcile keys
- `concurrently`: acts on many items at once
- `events`: records Kubernetes events
- `leader`: leader election on a Lease
- `manager`: informers, controllers and leader election of one process
"""
