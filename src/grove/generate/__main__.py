"""`python -m grove.generate ROOT` writes all generated files of the checkout ROOT."""

import sys
from pathlib import Path

from grove.api.serialization import yaml
from grove.api.serialization.crds import KINDS, crd
from grove.generate import api_reference, scheduler_table


def generated(root: Path) -> dict[str, str]:
    """The texts of all generated files, by path below `root`. Reads the recorded results of the real tests there."""
    files = {f"deploy/crds/{kind.resource.crd_name}.yaml": yaml.dump(crd(kind)) for kind in KINDS}
    return files | {
        "docs/api-reference.md": api_reference.page(),
        scheduler_table.PAGE: scheduler_table.page(root),
    }


if __name__ == "__main__":
    checkout = Path(sys.argv[1])
    for name, text in generated(checkout).items():
        path = checkout / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
