"""Keeps the resource claims that pods share: those of a set, a scaling group or a clique, and no others."""

from collections.abc import Iterable
from typing import Any

import orjson

from grove.api import labels
from grove.controllers.shared.apply import Applier, key_of_json
from grove.controllers.shared.companions import CLAIMS, Companion
from grove.controllers.shared.context import OperatorContext
from grove.controllers.shared.deletion import delete_all
from grove.controllers.shared.failures import Failure, failed
from grove.controllers.shared.informers import Informers
from grove.plan.layout.set_layout import SetLayout
from grove.plan.objects.claims import ClaimLabels, TemplateRef, external_templates, is_shared_with
from grove.runtime.client.errors import ExternalError
from grove.runtime.client.objects import ObjectKey
from grove.runtime.controller.concurrently import for_each

Json = dict[str, Any]
CLAIM_KIND = CLAIMS.kind
# The API server lets nobody change the spec of a claim.
IMMUTABLE_CLAIM_FIELDS = ("spec",)


class MissingTemplateError(ExternalError):
    """A set refers to a ResourceClaimTemplate that does not exist."""

    def __init__(self, reference: TemplateRef) -> None:
        super().__init__(
            f"ResourceClaimTemplate {reference.namespace}/{reference.name} does not exist; create it, "
            "or describe it in resourceClaimTemplates of the set"
        )


class UnsharedTemplateError(ExternalError):
    """A set refers to a ResourceClaimTemplate of another namespace, which is not shared with the set's namespace."""

    def __init__(self, reference: TemplateRef, namespace: str) -> None:
        super().__init__(
            f"ResourceClaimTemplate {reference.namespace}/{reference.name} does not exist or is not shared with "
            f"namespace {namespace}; its owner must create it with the annotation "
            f"{labels.SHARED_WITH_NAMESPACES}: {namespace}, or copy it to namespace {namespace}"
        )


class Claims:
    def __init__(self, context: OperatorContext, informers: Informers) -> None:
        self._context = context
        self._informers = informers
        self._applier = Applier()

    def templates(self, layout: SetLayout) -> dict[TemplateRef, Json]:
        """The claim specs of the ResourceClaimTemplates that the set refers to, if they exist and it may use them."""
        informer = self._informers.claim_templates
        found: dict[TemplateRef, Json] = {}
        for reference in external_templates(layout):
            key = ObjectKey(reference.namespace, reference.name)
            template = informer.cache.get(key) if informer is not None else None
            if template is not None and is_shared_with(
                layout.namespace, reference, template.metadata.annotations
            ):
                found[reference] = orjson.loads(template.body)["spec"]["spec"]
        return found

    def tags(self, layout: SetLayout) -> ClaimLabels:
        """Labels that the set's backend needs on its claims."""
        return self._context.registry.select(layout).backend.claim_labels(layout.pcs)

    def missing(self, layout: SetLayout) -> list[Failure]:
        """A failure for each template that the set refers to and that does not exist or is not shared with it."""
        existing = self.templates(layout)
        absent = [r for r in external_templates(layout) if r not in existing]
        return [
            Failure(
                "ERR_SYNC_PCS_RESOURCE_CLAIM",
                # Whether it exists is not told: the set's owner may not be allowed to know.
                MissingTemplateError(r)
                if r.namespace == layout.namespace
                else UnsharedTemplateError(r, layout.namespace),
            )
            for r in absent
        ]

    def kept_for(self, owner_uid: str) -> list[Companion]:
        informer = self._informers.companions.get(CLAIM_KIND)
        return informer.cache.by_index("owner", owner_uid) if informer is not None else []

    async def keep(self, wanted: Iterable[Json], owner_uid: str, code: str) -> list[Failure]:
        """Creates the claims that a scaling group or clique wants, and deletes its others. Failures get `code`."""
        informer = self._informers.companions.get(CLAIM_KIND)
        if informer is None:
            return []
        claims = list(wanted)
        names = {c["metadata"]["name"] for c in claims}
        surplus = [c for c in self.kept_for(owner_uid) if c.metadata.name not in names]

        async def ensure(claim: Json) -> None:
            await self._applier.ensure(
                informer,
                key_of_json(claim),
                orjson.dumps(claim),
                owner_uid=owner_uid,
                immutable_fields=IMMUTABLE_CLAIM_FIELDS,
                keep_immutable=True,
            )

        failures = failed(await for_each(claims, ensure), code)
        return failures + await delete_all(informer, surplus, code)
