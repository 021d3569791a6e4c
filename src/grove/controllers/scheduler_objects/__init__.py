"""The objects that schedulers read.

local_backends   the backends in this process, and what each can see of the cluster
discovery        keeps track of what the cluster serves
probing          asks the API server about kinds and fields
lookups          objects that backends look up by name
sync             keeps the objects of a gang
observation      what the scheduler says about a gang
"""
