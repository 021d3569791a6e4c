"""From bytes to a parsed request.

====================  ==================================================================
`paths`               URL to group, version, resource, namespace, name, subresource
`options`             query parameters that all writes share (`dryRun`, `fieldValidation`)
`bodies`              JSON, YAML or protobuf body to an object
`decoding`            body to an object of the kind, with defaults, without unknown fields
`duplicate_fields`    keys that a JSON body gives twice
====================  ==================================================================
"""
