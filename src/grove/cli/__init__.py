"""The `grove` command: one module per subcommand, one folder per larger one.

entry              the entry point; starts the program of the init container or the command
main               the command itself and its exit codes
validate           `grove validate`
render/            `grove render`
crds               `grove crds`
explain/           `grove explain`
operator           `grove operator` and `grove backend`
sandbox_commands   `grove demo` and `grove sandbox`, which the distribution grove-sandbox adds
options, files, output    what several commands share: options, input files, printing and errors

Modules that `main` imports must import only the standard library and typer at their top, and everything else inside the
functions that need it, so that `grove --help` and shell completion answer at once.
"""
