"""What should exist: pure functions of what the user wrote and what was observed.

No function in this package does I/O, reads a clock, draws a random number, or keeps state between calls. Controllers
call these functions and apply the result; `grove render` and the tests run the same code.

    layout/           what a set consists of, and where a PodClique stands in it
    objects/          the objects to create, one module per kind or concern
    gangs/            which cliques form a gang, when it is complete, when gates may open
    clique_pods       what happens to the pods of a clique in one reconcile
    clique_scaling    which pods of a clique to create and to delete, so that it has the right number
    pruning           which objects of a replica the set no longer describes
    pod_state         what the fields of a pod mean: present, dead, ready, gated
    termination       which part of a replica is ended because it lost its minimum, and when
    status/           the status of every kind
    explain/          why something does not run: one answer
    difference        the smallest patch that turns an observed object into the desired one
    render            every object of a set, without a cluster

Indices have the same letter everywhere: replica i of a set, copy j of a scaling group, pod p of a clique.
"""
