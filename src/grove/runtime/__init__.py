"""An asyncio controller runtime for Kubernetes. It knows no kind: callers bring their own classes.

Four rooms, each imports only from those below it:

- `controller`: from a change to the keys that it concerns, to a reconcile, to many writes; leader election, events and
  the manager that runs it all in one process;
- `cache`: the newest known state of a resource, fed by a watch and by our own writes;
- `client`: one request to the API server: built as a value, sent within flow control, retried, answered;
- `telemetry`: metrics, probes and logs.

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

All times are those of the event loop, so everything here also runs in virtual time.
"""
