"""The `grove` command, one module per subcommand.

These modules import only the standard library and typer at their top, and the rest inside the functions that
need it, so that `grove --help` and shell completion answer at once.
"""
