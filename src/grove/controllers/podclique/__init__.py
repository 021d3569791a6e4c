"""PodCliques: their pods, and the gates of their pods."""
