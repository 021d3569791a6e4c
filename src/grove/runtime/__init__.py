"""An asyncio controller runtime for Kubernetes. It knows no kind: callers bring their own classes.

From the wire upwards, each module on top of those before it:

- `transport`, `http`, `kubeconfig`, `credentials`: how bytes reach a server, and who we are to it;
- `requests`, `errors`, `window`, `client`, `discovery`: one request: built as a value, sent within an in-flight
  window, sent again where that helps, ended by an answer or a typed error;
- `objects`, `collection`: all verbs on the objects of one resource, decoded by the caller's function;
- `cache`, `watch`, `informer`: the newest known state of a resource, fed by a watch and by our own writes;
- `queue`, `sources`, `controller`, `batch`: from a change to the keys it concerns, to a reconcile, to many writes;
- `leader`, `events`, `metrics`, `health`, `logs`, `manager`: what a process around controllers needs.

A whole controller::

    client = Client(HttpTransport(find_cluster()), field_manager="example")
    manager = Manager(client)
    pods = manager.informer(PODS, msgspec.json.Decoder(Pod).decode)

    async def reconcile(key: ObjectKey) -> None:
        pod = pods.cache.get(key)
        if pod is not None and pod.metadata.labels.get("seen") != "yes":
            await pods.objects.merge_patch(key, b'{"metadata":{"labels":{"seen":"yes"}}}')

    manager.add(Controller("label", reconcile, [Source(pods, itself, why="a new pod has no label yet")]))
    await manager.run(stop)

All time is the event loop's, so everything here also runs in virtual time.
"""
