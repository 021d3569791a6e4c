"""Kubernetes' own types: their fields, defaults and encodings.

======================  =========================================================================
`definitions`           OpenAPI definitions of the builtin kinds, per release (`definitions.json`)
`shapes`                drops unknown fields, checks types, fills in defaults, as Go decoding does
`defaults`              the defaults, by definition
`protobuf`              decodes kubectl's protobuf bodies (field numbers in `messages.json`)
`quantities`            the canonical form of a quantity
`refresh_definitions`   renews both JSON files at a new release, by hand
======================  =========================================================================
"""
