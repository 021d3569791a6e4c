"""Koordinator: `scheduler` reads PodGroups and the gang annotations of pods."""
