"""An embedded Kubernetes API server, good enough for kubectl and for every test.

    server = ApiServer()
    await server.send(Request("GET", "/api/v1/namespaces/default"))

What it does not implement answers 501, never a silent success. It is not for production: that is Kubernetes.
"""

from grove_sandbox.apiserver.server import ApiServer, Write

__all__ = ["ApiServer", "Write"]
