"""Gangs: which pods form one, when it is complete, when the gates of its pods may be removed."""
