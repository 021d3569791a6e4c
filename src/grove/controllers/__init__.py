"""Shells around the plans: observe the caches, call a plan, apply the difference. One module per controller."""
