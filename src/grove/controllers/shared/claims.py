"""Resource claims that pods share: kept for a set, a scaling group or a clique, and removed with what they were for."""

from collections.abc import Iterable
from typing import Any

import orjson

from grove.controllers.shared.apply import Applier, key_of_json
from grove.controllers.shared.companions import Companion
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.deletion import delete_all
from grove.controllers.shared.informers import Informers
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.claims import ClaimLabels, TemplateRef, external_templates
from grove.runtime.client.errors import ExternalError
from grove.runtime.client.objects import ObjectKey
from grove.runtime.controller.concurrently import for_each

Json = dict[str, Any]
KIND = "ResourceClaim"
# A claim keeps the spec that it was made with: no API server lets it be changed.
CLAIM_FIXED = ("spec",)


class MissingTemplateError(ExternalError):
    """A set refers to a ResourceClaimTemplate that is not there."""

    def __init__(self, reference: TemplateRef) -> None:
        super().__init__(
            f"ResourceClaimTemplate {reference.namespace}/{reference.name} does not exist; create it, "
            "or describe it in resourceClaimTemplates of the set"
        )


class Claims:
    def __init__(self, context: OperatorContext, informers: Informers) -> None:
        self._context = context
        self._informers = informers
        self._applier = Applier()

    def templates(self, layout: SetLayout) -> dict[TemplateRef, Json]:
        """The specs of the claims that the cluster's templates describe, as far as those are there."""
        informer = self._informers.claim_templates
        found: dict[TemplateRef, Json] = {}
        for reference in external_templates(layout):
            known = (
                informer.cache.get(ObjectKey(reference.namespace, reference.name))
                if informer is not None
                else None
            )
            if known is not None:
                found[reference] = orjson.loads(known.body)["spec"]["spec"]
        return found

    def tags(self, layout: SetLayout) -> ClaimLabels:
        """Labels that the set's backend wants on its claims."""
        return self._context.registry.selection(layout).backend.claim_labels(layout.pcs)

    def missing(self, layout: SetLayout) -> list[tuple[str, Exception]]:
        known = self.templates(layout)
        absent = [r for r in external_templates(layout) if r not in known]
        return [("ERR_SYNC_PCS_RESOURCE_CLAIM", MissingTemplateError(r)) for r in absent]

    def kept_for(self, owner_uid: str) -> list[Companion]:
        informer = self._informers.companions.get(KIND)
        return informer.cache.by_index("owner", owner_uid) if informer is not None else []

    async def keep(self, wanted: Iterable[Json], owner_uid: str, code: str) -> list[tuple[str, Exception]]:
        """Makes the claims that a scaling group or clique wants, and removes what else it has."""
        informer = self._informers.companions.get(KIND)
        if informer is None:
            return []
        bodies = list(wanted)
        expected = {b["metadata"]["name"] for b in bodies}
        surplus = [c for c in self.kept_for(owner_uid) if c.metadata.name not in expected]

        async def ensure(body: Json) -> None:
            await self._applier.ensure(
                informer,
                key_of_json(body),
                orjson.dumps(body),
                owner_uid=owner_uid,
                fixed=CLAIM_FIXED,
                all_but_fixed=True,
            )

        outcomes = await for_each(bodies, ensure)
        failures = [(code, o.error) for o in outcomes if o.error is not None]
        return failures + await delete_all(informer, surplus, code)
