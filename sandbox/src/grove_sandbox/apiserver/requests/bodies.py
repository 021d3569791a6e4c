"""Parses a request body by its content type: JSON, YAML or protobuf."""

from typing import Any

import orjson
import yaml

from grove_sandbox.apiserver.errors import bad_request, unsupported_media_type
from grove_sandbox.apiserver.schema import protobuf
from grove_sandbox.apiserver.state import ApiCall


def parse(call: ApiCall) -> Any:
    media_type = call.headers.get("content-type", "application/json").partition(";")[0].strip()
    try:
        if media_type in ("application/json", ""):
            return orjson.loads(call.body)
        if media_type == protobuf.MEDIA_TYPE:
            return protobuf.decode(call.body)
        if media_type in ("application/yaml", "application/apply-patch+yaml"):
            return yaml.safe_load(call.body)
    except (orjson.JSONDecodeError, yaml.YAMLError) as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    raise unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    )
