"""Serves the resources of a CustomResourceDefinition from its creation on, and removes it after its last object."""

from grove_sandbox.apiserver.custom.crd_strategy import CLEANUP, DefinitionStrategy
from grove_sandbox.apiserver.custom.custom_resources import (
    CustomStrategy,
    custom_type,
)
from grove_sandbox.apiserver.errors import (
    GroupResource,
)
from grove_sandbox.apiserver.kinds import printers
from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.schema import definitions
from grove_sandbox.apiserver.schema.defaults import DEFAULTS
from grove_sandbox.apiserver.schema.shapes import ShapeCompiler
from grove_sandbox.apiserver.state import ApiCall, ServerState
from grove_sandbox.apiserver.storage import Object, StoredChange, Table
from grove_sandbox.apiserver.verbs.deletes import DeletionOptions, remove
from grove_sandbox.apiserver.verbs.writes import save

GROUP = "apiextensions.k8s.io"
CRDS = GroupResource(GROUP, "customresourcedefinitions")
DEFINITION = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"


class CustomResourceController:
    """Adds and removes custom resources in the registry as CRDs are written and deleted."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        shapes = ShapeCompiler(state.definitions, DEFAULTS)
        self._meta_shape = shapes.of(definitions.META + "ObjectMeta")
        self._type = ServedResource(
            group=GROUP,
            version="v1",
            kind="CustomResourceDefinition",
            plural="customresourcedefinitions",
            singular="customresourcedefinition",
            namespaced=False,
            strategy=DefinitionStrategy(shapes.of(DEFINITION)),
            short_names=("crd", "crds"),
            categories=("api-extensions",),
            status=True,
            columns=printers.CRDS,
        )
        self._terminating: dict[GroupResource, str] = {}
        state.registry.add(self._type)
        state.store.listeners.append(self._on_change)

    def _on_change(self, table: Table, change: StoredChange) -> None:
        if table.resource in self._terminating and change.type == "DELETED" and not table.objects:
            self._state.later(self._finish_all)
        if table.resource != CRDS:
            return
        spec = change.now.obj["spec"]
        resource = GroupResource(spec["group"], spec["names"]["plural"])
        if change.type == "DELETED":
            self._state.registry.remove(resource.group, resource.resource)
            self._state.store.drop(resource)
            self._terminating.pop(resource, None)
        elif change.now.obj["metadata"].get("deletionTimestamp"):
            if resource not in self._terminating:
                self._terminating[resource] = change.key[1]
                self._state.later(lambda: self._empty(resource))
        elif change.before is None or change.before.obj["spec"] != spec:
            self._serve(spec)
            if change.before is None:
                self._establish(change.now.obj)

    def _serve(self, spec: Object) -> None:
        self._state.registry.remove(spec["group"], spec["names"]["plural"])
        for version in spec["versions"]:
            if version["served"]:
                self._state.registry.add(custom_type(spec, version, self._meta_shape))

    def _establish(self, crd: Object) -> None:
        now = self._state.timestamp()
        conditions = [
            {
                "type": "NamesAccepted",
                "status": "True",
                "lastTransitionTime": now,
                "reason": "NoConflicts",
                "message": "no conflicts found",
            },
            {
                "type": "Established",
                "status": "True",
                "lastTransitionTime": now,
                "reason": "InitialNamesAccepted",
                "message": "the initial names have been accepted",
            },
        ]
        status = {**crd["status"], "conditions": conditions, "acceptedNames": crd["spec"]["names"]}
        key = ("", crd["metadata"]["name"])
        new = {**crd, "metadata": dict(crd["metadata"]), "status": status}
        self._state.store.put(self._state.table(self._type), key, new)

    def _empty(self, resource: GroupResource) -> None:
        resource_type = self._state.registry.served(resource)
        if resource_type is not None:
            assert isinstance(resource_type.strategy, CustomStrategy)
            resource_type.strategy.terminating = True
            table = self._state.table(resource_type)
            for stored in list(table.scan(None)):
                call = ApiCall(self._state, resource_type, *stored.key)
                if not stored.obj["metadata"].get("deletionTimestamp"):
                    remove(call, stored, DeletionOptions())
        self._finish_all()

    def _finish_all(self) -> None:
        for resource, name in list(self._terminating.items()):
            stored = self._state.table(self._type).get(("", name))
            if stored is not None and not self._state.store.table(resource).objects:
                meta = dict(stored.obj["metadata"])
                meta["finalizers"] = [f for f in meta.get("finalizers") or () if f != CLEANUP]
                save(ApiCall(self._state, self._type, "", name), {**stored.obj, "metadata": meta}, stored)
