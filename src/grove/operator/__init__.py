"""The operator put together: which controllers run, on what configuration, with what around them."""
