"""Controllers: observe the caches, call a plan, apply the difference. The rules are in `grove.plan`.

podcliqueset        sets as a whole, and each of their replicas
scalinggroup        the copies of a scaling group
podclique           the pods of a clique, and their gates
podgang             gangs: the pods that they name, their translation, their status
scheduler_objects   the objects of schedulers, and what the cluster serves of their kinds
topology            the topology objects of schedulers
shared              informers, predicates, apply, status writes and other parts that several controllers use
"""
