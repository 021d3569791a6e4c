"""`python -m grove.schedulers ROOT` writes the table of schedulers."""

import sys
from pathlib import Path

from grove.schedulers.comparison import PAGE, page

if __name__ == "__main__":
    root = Path(sys.argv[1])
    (root / PAGE).write_text(page(root), encoding="utf-8")
