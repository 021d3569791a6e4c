"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

FilenameOption = Annotated[
    list[str],
    typer.Option("--filename", "-f", help="A file, a folder (with its subfolders), or - for standard input."),
]
OfflineConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="The operator's configuration file. Without it, every scheduler and feature counts as enabled.",
    ),
]
ConfigOption = Annotated[
    Path | None, typer.Option(help="An OperatorConfiguration file. Without it, the defaults apply.")
]
KubeconfigOption = Annotated[
    Path | None, typer.Option(help="Default: $KUBECONFIG, ~/.kube/config, or the pod's service account.")
]
ContextOption = Annotated[
    str | None, typer.Option(help="A context of the kubeconfig. Default: the current context.")
]
