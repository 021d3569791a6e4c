"""Creates the default service account of a namespace, and empties a namespace that is being deleted."""

from grove_sandbox.apiserver.controllers.bootstrap import install
from grove_sandbox.apiserver.errors import GroupResource
from grove_sandbox.apiserver.resources.resource_types import ServedResource
from grove_sandbox.apiserver.state import ApiCall, ServerState
from grove_sandbox.apiserver.storage import Stored, StoredChange, Table
from grove_sandbox.apiserver.verbs.deletes import DeletionOptions, remove
from grove_sandbox.apiserver.verbs.writes import save

NAMESPACES = GroupResource("", "namespaces")


class NamespaceController:
    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._terminating: set[str] = set()
        self._scheduled = False
        state.store.listeners.append(self._on_change)

    def _on_change(self, table: Table, change: StoredChange) -> None:
        name = change.key[1]
        if table.resource == NAMESPACES:
            if change.type == "ADDED":
                account = {"metadata": {"name": "default", "namespace": name}}
                install(self._state, self._type("serviceaccounts"), account)
            elif change.type == "DELETED":
                self._terminating.discard(name)
            elif change.now.obj["metadata"].get("deletionTimestamp"):
                self._terminating.add(name)
                self._schedule()
        elif change.type == "DELETED" and change.key[0] in self._terminating:
            self._schedule()

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._state.later(self._run)

    def _run(self) -> None:
        self._scheduled = False
        for name in sorted(self._terminating):
            content = self._content(name)
            for resource_type, stored in content:
                call = ApiCall(self._state, resource_type, *stored.key)
                if call.table.get(stored.key) is stored and not stored.obj["metadata"].get(
                    "deletionTimestamp"
                ):
                    remove(call, stored, DeletionOptions(policy="Background"))
            if not self._content(name):
                self._finish(name)

    def _content(self, namespace: str) -> list[tuple[ServedResource, Stored]]:
        seen: set[GroupResource] = set()
        found: list[tuple[ServedResource, Stored]] = []
        for resource_type in self._state.registry:
            if resource_type.namespaced and resource_type.storage not in seen:
                seen.add(resource_type.storage)
                table = self._state.table(resource_type)
                found += [(resource_type, stored) for stored in table.scan(namespace)]
        return found

    def _finish(self, name: str) -> None:
        resource_type = self._type("namespaces")
        stored = self._state.table(resource_type).get(("", name))
        if stored is not None:
            empty = {**stored.obj, "spec": {}, "metadata": dict(stored.obj["metadata"])}
            save(ApiCall(self._state, resource_type, "", name), empty, stored)

    def _type(self, plural: str) -> ServedResource:
        resource_type = self._state.registry.get("", "v1", plural)
        assert resource_type is not None
        return resource_type
