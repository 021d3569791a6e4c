"""Stands in for a model server: says over HTTP who it is, as Grove told it. Standard library only."""

from __future__ import annotations

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT = 8080


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        told = {name: value for name, value in os.environ.items() if name.startswith("GROVE_")}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    # The first process of a container dies of no signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    ThreadingHTTPServer(("", PORT), Handler).serve_forever()


if __name__ == "__main__":
    main()
