"""`grove explain`: says why a set, gang, scaling group, clique or pod does not run.

command    the command: connects, prints one answer, or one after every change with --watch
cluster    reads and watches the objects that the answer depends on
terminal   prints an answer for people

The answer itself comes from `grove.plan.explain`.
"""
