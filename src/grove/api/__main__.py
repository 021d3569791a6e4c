"""`python -m grove.api ROOT` writes what is made from the models: the CRDs and the reference page."""

import sys
from pathlib import Path

from grove.api import yaml
from grove.api.crds import KINDS, crd
from grove.api.reference import page


def generated() -> dict[str, str]:
    """Every generated file of the project, by its path in the checkout."""
    files = {f"deploy/crds/{k.resource.crd_name}.yaml": yaml.dump(crd(k)) for k in KINDS}
    return files | {"docs/api-reference.md": page()}


if __name__ == "__main__":
    for name, text in generated().items():
        path = Path(sys.argv[1]) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
