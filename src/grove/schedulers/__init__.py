"""Translators: a PodGang in, a scheduler's own objects out. One module or package per scheduler."""
