"""Judges JSON as a Kubernetes API server does: structural schemas, CEL rules, quantities, names.

    schema = Schema(crd_version["schema"]["openAPIV3Schema"])
    obj = schema.default(schema.prune(obj))
    errors = schema.validate(obj, old)

Knows no kind and imports nothing else of Grove. Compile a schema once and use it for any number of objects. The error
messages are those of Kubernetes 1.36 and later.

    compiled                       `Schema`: a compiled schema, with the three operations
    node, structural               parses a schema; checks that an API server would accept it
    shape                          pruning and defaulting
    values, formats, lists         value validation
    rules, cel_library             x-kubernetes-validations
    correlation, errors, regex     old values of an update; field errors and paths; RE2
    quantity, name_syntax          the grammar of quantities and of names
"""

from grove.schema.compiled import Schema
from grove.schema.errors import FieldError, FieldErrorReason, Key, Path, render_path
from grove.schema.node import SchemaError
from grove.schema.structural import check_schema

__all__ = [
    "FieldError",
    "FieldErrorReason",
    "Key",
    "Path",
    "Schema",
    "SchemaError",
    "check_schema",
    "render_path",
]
