"""Simulated gang schedulers. Each reads exactly what the real one reads, so a wrong translation shows as it would in a
real cluster: as a pod that is not bound.

==================  ================================================================================
`catalog`           all schedulers by name, with the CRDs that they need
`policy`            the contract of a scheduler: `round(view)` in, bindings and statuses out
`simulator`         runs one policy against any API server
`snapshot`          nodes and pods as one scheduling round sees them; assumes and rolls back
`gangs`             places a tree of gangs, all or nothing
`amounts`           what pods request and nodes have, in whole numbers
`objects`           the fields of pods and nodes that schedulers read
`kube/`             kube-scheduler, 1.34 to 1.37
`kai/`              KAI scheduler
`koordinator/`      Koordinator
`volcano/`          Volcano
`yunikorn/`         YuniKorn
==================  ================================================================================
"""
