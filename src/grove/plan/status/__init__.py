"""The status of every kind, computed from what was observed."""
