"""Scheduler backends: they translate a PodGang into the objects of a scheduler. Pure, like `grove.plan`.

backend             the contract of a backend; `types` are the values that it exchanges with the framework
installed           the backends that packages offer, and which of them serves a profile
registry            the enabled backends, and which one a set gets
pod_drafts          the drafts of pods as a backend prepares them
recorded_dialect    the dialect that a gang records, for schedulers with several APIs
guarantees          what schedulers guarantee, for people who choose one
queues, requests    what several backends need: the queue that a set names, the resources that a pod requests
kube, kai, koordinator, volcano, yunikorn    the backends of this distribution
"""
