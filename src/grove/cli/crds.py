"""`grove crds`: prints the CustomResourceDefinitions."""

from typing import Annotated

import typer

from grove.cli.output import CommandError, Exit, Output, OutputOption, print_data


def crds(
    kind: Annotated[
        str | None,
        typer.Argument(help="Print only this kind, given as kind, plural or short name, such as pcs."),
    ] = None,
    output: OutputOption = Output.YAML,
) -> None:
    """Print the CustomResourceDefinitions: grove crds | kubectl apply --server-side -f -"""
    from grove.api.serialization.crds import KINDS, crd

    if output is Output.TABLE:
        raise CommandError("a CRD does not fit into a table", "use --output yaml or json", Exit.USAGE)
    found = KINDS if kind is None else [k for k in KINDS if kind.lower() in k.resource.spellings]
    if not found:
        known = ", ".join(k.resource.kind for k in KINDS)
        raise CommandError(f"there is no kind {kind!r}", f"the kinds are {known}", Exit.USAGE)
    print_data([crd(k) for k in found], output)
