"""Reads and writes objects without losing what a user wrote.

model       the base class of all models, and the description of their fields
codec       JSON to models and back; keeps unknown fields
yaml        YAML as kubectl reads it, with line numbers
crds        CustomResourceDefinitions, derived from the models
manifests   checks the objects of manifests offline; object_check: one object, by its schema and `grove.api.validation`
"""
