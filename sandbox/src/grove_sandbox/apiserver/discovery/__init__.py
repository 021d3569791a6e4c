"""What the server serves.

=============  ====================================================
`discovery`    version, health, plain and aggregated discovery
`openapi`      OpenAPI v3, for `kubectl explain`, validation and apply
=============  ====================================================
"""
