"""What holds for every resource, builtin or custom.

==================  ======================================================================
`resource_types`    a served resource in one version, and the registry of all of them
`strategy`          the hooks by which one kind differs from the others during a write
`metadata`          rules for `metadata`, on create and on update
`names`             syntax of names, labels, annotations keys, with Kubernetes' messages
`timestamps`        RFC 3339 times and kubectl's ages
==================  ======================================================================
"""
