"""Finds imports that a pure backend does not need: network, clock, randomness, and the rooms above the schedulers."""

import ast
import inspect
import sys
from collections.abc import Iterator
from types import ModuleType

from grove.schedulers.backend import Backend

IMPURE = (
    "aiohttp",
    "asyncio",
    "grove.cli",
    "grove.controllers",
    "grove.operator",
    "grove.runtime",
    "grove_sandbox",
    "httpx",
    "kubernetes",
    "random",
    "requests",
    "secrets",
    "socket",
    "subprocess",
    "threading",
    "time",
    "urllib.request",
    "uuid",
)


def impure_imports(backend: Backend) -> list[str]:
    """Such as `mine.backend imports random`, for all loaded modules of the backend."""
    return [
        f"{module.__name__} imports {name}"
        for module in _modules(type(backend).__module__)
        for name in _imports(module)
        if any(name == bad or name.startswith(f"{bad}.") for bad in IMPURE)
    ]


def _modules(name: str) -> list[ModuleType]:
    """The module that defines the backend, and the other modules of its package."""
    package = name.rpartition(".")[0]
    prefix = f"{package or name}."
    return [m for n, m in sorted(sys.modules.items()) if n == name or n.startswith(prefix)]


def _imports(module: ModuleType) -> Iterator[str]:
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
