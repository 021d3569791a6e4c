"""CustomResourceDefinitions and the resources that they define.

===================  ===================================================================
`crd_strategy`       defaults and validation of a CustomResourceDefinition
`crd_controller`     serves its resources, and cleans up when it is deleted
`custom_resources`   one served version of a definition: schema, columns, subresources
`jsonpath`           the part of JSONPath that printer columns use
===================  ===================================================================
"""
