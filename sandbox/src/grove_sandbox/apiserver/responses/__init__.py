"""From a stored object to bytes.

=================  ================================================================
`encoding`         negotiates the form of a response and encodes objects in it
`kubectl_table`    the `Table` form: columns and rows, as `kubectl get` prints them
=================  ================================================================
"""
