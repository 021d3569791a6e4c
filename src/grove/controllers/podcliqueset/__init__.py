"""PodCliqueSets.

set_controller       reconciles a set as a whole
set_judgement        whether a set is valid, what it consists of, which backend it gets: a pure function
set_judgements       a cache of judgements, per version of a set
set_reporter         writes the status of a set
running_reasons      why a set does not run
replica_summaries    what the status of a set adds up
set_deletion         what happens when a set is deleted
replica_controller   reconciles one replica of a set
replica_objects      what a replica consists of
replica_pruning      deletes what a replica no longer needs
"""
