"""An embedded Kubernetes API server: good enough for kubectl, and for every test that does not need a real one.

    server = ApiServer()
    await server.send(Request("GET", "/api/v1/namespaces/default"))

Anything that it does not implement answers 501, never a silent success. It is not for production.

=============  ==========================================================================================
`server`       `ApiServer`: routes a request to its verb
`state`        `ServerState`, which all verbs share, and `ApiCall`, one parsed request
`storage`      objects, resource versions and the history that watches read
`errors`       every `Status` that a client can receive
`admission`    calls mutating and validating webhooks
`requests/`    URL, query parameters and body of a request
`verbs/`       get, list, watch, create, update, delete, and the subresources
`patching/`    JSON patch, merge patch, strategic merge patch, server-side apply
`resources/`   what holds for every resource: registry, strategy of a kind, metadata, names, times
`kinds/`       the builtin kinds: table, validation, defaults that need a look at the cluster, printed columns
`custom/`      CustomResourceDefinitions and the resources that they define
`schema/`      Kubernetes' own types: OpenAPI definitions, defaults, protobuf, quantities
`responses/`   how an object is encoded: itself, `Table`, or metadata only
`discovery/`   discovery documents and OpenAPI
`controllers/` loops that a cluster always runs: garbage collector, namespaces, PodGroup protection
=============  ==========================================================================================
"""

from grove_sandbox.apiserver.server import ApiServer, Write

__all__ = ["ApiServer", "Write"]
