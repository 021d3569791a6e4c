"""The builtin kinds.

==============  ==============================================================================
`builtin`       the table of all builtin kinds: start here
`pods`          what the server fills into a pod, how a pod is deleted
`pod_rules`     validation of pods, on create and on update
`services`      cluster IPs and validation of services
`events`        events in core/v1 and in events.k8s.io/v1, over one storage
`scheduling`    Workload, PodGroup and CompositePodGroup of scheduling.k8s.io
`strategies`    kinds with a rule or two: namespaces, nodes, leases, autoscalers, ...
`priorities`    the priority of a pod or gang, from its PriorityClass
`printers`      columns that `kubectl get` prints
==============  ==============================================================================
"""
