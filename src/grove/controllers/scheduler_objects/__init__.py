"""The objects that schedulers read: which kinds the cluster serves, what backends look up, and the sync of a gang."""
