"""PATCH in its four forms.

=====================  =====================================================================
`patches`              picks the form by content type
`json_patch`           JSON patch (RFC 6902) and merge patch (RFC 7386)
`strategic_merge`      strategic merge patch, by the patch keys of the OpenAPI definitions
`server_side_apply`    apply: merge, conflicts, field managers
`managed_fields`       `metadata.managedFields`: which manager owns which field
`field_sets`           sets of field paths, and their `fieldsV1` encoding
=====================  =====================================================================
"""
