"""YuniKorn's gang scheduling parameters, such as `placeholderTimeoutInSeconds=900 gangSchedulingStyle=Hard`."""

import hashlib
import re
from collections.abc import Mapping

from grove.api.podgang import PodGang
from grove.schedulers.types import Refusal
from grove.schedulers.yunikorn.applications import application_of

PARAMETERS = "yunikorn.apache.org/schedulingPolicyParameters"
"""The annotation that has them, on pods and on the set."""

TIMEOUT = "placeholderTimeoutInSeconds"
STYLE = "gangSchedulingStyle"

_VALUES = {TIMEOUT: re.compile("[1-9][0-9]{0,9}"), STYLE: re.compile("Hard|Soft")}


def parse_parameters(text: str) -> dict[str, str]:
    """Raises ValueError for anything that YuniKorn does not understand: YuniKorn itself would ignore it."""
    parameters: dict[str, str] = {}
    for item in text.split():
        key, _, value = item.partition("=")
        if key not in _VALUES or not _VALUES[key].fullmatch(value):
            raise ValueError(f"{item!r} is neither {TIMEOUT}=SECONDS nor {STYLE}=Hard or Soft")
        parameters[key] = value
    return parameters


def format_parameters(parameters: Mapping[str, str]) -> str:
    return " ".join(f"{k}={v}" for k, v in parameters.items())


def parameters_of(gang: PodGang, defaults: Mapping[str, str]) -> dict[str, str]:
    """The parameters in the annotation of the gang, over the defaults. Raises Refusal."""
    try:
        asked = dict(defaults) | parse_parameters(gang.metadata.annotations.get(PARAMETERS, ""))
    except ValueError as e:
        raise Refusal(f"the annotation {PARAMETERS}: {e}", "correct it") from e
    return asked | {TIMEOUT: str(_timeout_of_attempt(gang, int(asked[TIMEOUT])))}


def _timeout_of_attempt(gang: PodGang, timeout_seconds: int) -> int:
    """The time-out of the gang's current application: as asked for the first one, up to twice as long later.

    Gangs whose placeholders each hold a part of the same room give up together. With equal time-outs they would do so
    again and again, and no gang would ever get the room of the others. The hash spreads them; it is no randomness.
    """
    number = application_of(gang).number
    if number == 1:
        return timeout_seconds
    share = hashlib.sha256(f"{gang.metadata.uid}/{number}/patience".encode()).digest()[0] / 256
    return timeout_seconds + int(timeout_seconds * share)
