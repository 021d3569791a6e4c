"""What several controllers use.

context         configuration, backends, clock, events, metrics
informers       one informer per kind, with its indexes
indexes         how an object finds its set, replica, group and gang
companions      kinds without a model of their own
predicates      which changes trigger a reconcile
apply           makes an object equal to a desired one
status_writer   writes statuses in batches
failures        what failed, for statuses, events and retries
claims, deletion, finalizers
"""
