"""One request to the API server: built as a value, sent within flow control, retried, answered or a typed error.

- `objects`: what the runtime needs to know about an object: resource, key, uid, version
- `requests`: builds requests; pure
- `transport`: the contract of a transport; `http_transport` implements it with aiohttp, `proxy` finds the proxy
- `client`: sends, retries, classifies; `flow_control` limits the requests in flight; `errors`, `backoff`
- `resource_client`: every verb on the objects of one resource, answers written through to a cache
- `kubeconfig`, `credentials`: the address of the cluster and how to authenticate
- `discovery`: which groups, versions and resources the server serves
"""
