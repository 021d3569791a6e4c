"""Gangs: pods that are scheduled together or not at all.

membership    which cliques form a gang
completion    when a gang has all its pods, and which pods it names
gates         when the scheduling gate of a pod may be removed
"""
