"""Reads and writes objects without losing what a user wrote: model, codec, YAML, manifests, CRDs from models."""
