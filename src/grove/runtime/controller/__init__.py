"""From a change to the keys that it concerns, to a reconcile, to many writes; and the process around it."""
