"""Rolling updates: which units are replaced next when a template changes. No controller executes these plans yet.

progress    whether an update is in progress
budget      which units of a clique or scaling group are replaced next: the formula
pods        the pods of a standalone clique as units
copies      the copies of a scaling group as units
"""
