"""`grove render`: prints every object that the operator would create for a manifest, without a cluster.

command    the command: reads the files, checks them, prints the objects
offline    the plan and the scheduler backends, run on the objects of files instead of a cluster's
"""
