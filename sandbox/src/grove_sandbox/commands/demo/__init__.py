"""`grove demo`: the whole life of a gang on the embedded cluster."""
