"""From bytes to a parsed request.

====================  ==================================================================
`paths`               URL to group, version, resource, namespace, name, subresource
`options`             query parameters that all writes share (`dryRun`, `fieldValidation`)
`bodies`              JSON, YAML or protobuf body to an object
`duplicate_fields`    keys that a JSON body gives twice
====================  ==================================================================
"""
