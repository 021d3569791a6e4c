"""CustomResourceDefinitions and the resources that they define.

===================  ===================================================================
`crds`               validation, conditions and life cycle of a CustomResourceDefinition
`custom_resources`   one served version of a definition: schema, columns, subresources
`jsonpath`           the part of JSONPath that printer columns use
===================  ===================================================================
"""
