"""The newest known state of a resource, fed by a watch and by our own writes.

- `watch`: one watch connection, split into events
- `informer`: lists, watches, resumes and relists; delivers events in batches to its cache
- `cache`: objects by key, uid and index; tells subscribers about every change and its origin
"""
