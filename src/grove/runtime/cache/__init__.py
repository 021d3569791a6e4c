"""The newest known state of a resource, fed by a watch and by our own writes."""
