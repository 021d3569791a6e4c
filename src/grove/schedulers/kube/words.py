"""What kube-scheduler says about a gang: the conditions of its PodGroups.

A group that fails makes its siblings fail, with the same words: those are said once. The word "scheduled" is never
taken from here: once true, the condition stays true, whatever happens to the pods.
"""

from collections.abc import Sequence

from grove.api.podgang import PodGang
from grove.schedulers.kube.dialect import Json
from grove.schedulers.types import Observation

CONDITIONS = ("PodGroupInitiallyScheduled", "PodGroupScheduled")


def scheduler_words(gang: PodGang, objects: Sequence[Json]) -> Observation:
    groups: dict[str, list[str]] = {}
    reasons: list[str] = []
    for obj in sorted(objects, key=lambda o: str(o["metadata"]["name"])):
        for condition in obj.get("status", {}).get("conditions") or ():
            if condition["type"] in CONDITIONS and condition["status"] == "False":
                text = str(condition.get("message") or condition.get("reason") or "")
                groups.setdefault(text, []).append(_group(gang, str(obj["metadata"]["name"])))
                reasons.append(str(condition.get("reason") or ""))
    if not groups:
        return Observation()
    message = "; ".join(f"{', '.join(names)}: {text}" for text, names in groups.items())
    return Observation("SchedulerError" if "SchedulerError" in reasons else reasons[0], message)


def _group(gang: PodGang, name: str) -> str:
    """The name of a PodGroup as the user knows it."""
    own = gang.metadata.name or ""
    short = name.removeprefix(f"{own}.pg.")
    return "the gang" if short == f"{own}.pg" else short
