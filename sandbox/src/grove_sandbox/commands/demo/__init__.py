"""`grove demo`: the whole life of a gang on the embedded cluster.

==============  =======================================================================
`command`       the command line
`scenario`      cluster, operator, and the steps, each of which must be observed
`board`         the table of gangs and pods that the terminal shows
`schedulers`    the simulated schedulers to choose from
`demo.yaml`     the set that is applied
==============  =======================================================================
"""
