"""`grove explain`: why something waits."""
