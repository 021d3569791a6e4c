"""Helpers that several controllers share: informers, predicates, apply, status writes, claims, deletion, finalizers."""
