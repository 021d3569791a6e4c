"""The tree is its own table of contents: one name, one class; rooms list their modules; the design page is right."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = [ROOT / "src", ROOT / "sandbox" / "src", ROOT / "testbed" / "src"]
ROOMS = sorted(
    room.parent
    for source in SOURCES
    for room in source.rglob("__init__.py")
    if any(module.stem not in ("__init__", "__main__") for module in room.parent.glob("*.py"))
)


def classes() -> Iterator[tuple[str, Path]]:
    for source in SOURCES:
        for path in source.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    yield node.name, path.relative_to(ROOT)


def test_no_two_classes_share_a_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for name, path in classes():
        found[name].append(str(path))
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: str(room.relative_to(ROOT)))
def test_a_room_lists_its_modules(room: Path) -> None:
    text = (room / "__init__.py").read_text(encoding="utf-8")
    modules = {path.stem for path in room.glob("*.py")} - {"__init__", "__main__"}
    assert {module for module in modules if not re.search(rf"\b{module}\b", text)} == set()


def test_every_path_on_the_design_page_exists() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([\w./]+/[\w./]+)`", page)
    assert len(paths) > 20
    bases = (ROOT, ROOT / "src" / "grove")
    assert [path for path in paths if not any((base / path).exists() for base in bases)] == []


def test_every_folder_in_the_tree_of_the_design_page_exists() -> None:
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    tree = page.split("## The tree", 1)[1].split("```")[1]
    stack: list[tuple[int, Path]] = []
    missing: list[str] = []
    for line in filter(None, tree.split("\n")):
        indent = len(line) - len(line.lstrip())
        stack = [(depth, path) for depth, path in stack if depth < indent]
        path = (stack[-1][1] if stack else ROOT) / line.split()[0]
        stack.append((indent, path))
        if not path.is_dir():
            missing.append(str(path))
    assert stack
    assert missing == []
