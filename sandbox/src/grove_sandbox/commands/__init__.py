"""The commands that this distribution adds to `grove`: demo and sandbox."""
