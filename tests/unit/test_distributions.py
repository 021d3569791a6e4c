"""The three distributions of this repository: what their wheels contain, and what they depend on."""

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
SITE_PACKAGES = Path(sysconfig.get_path("purelib"))
# Each distribution with its folder and its package.
DISTRIBUTIONS = {
    "grove-operator": (ROOT, "src/grove"),
    "grove-sandbox": (ROOT / "sandbox", "src/grove_sandbox"),
    "grove-testbed": (ROOT / "testbed", "src/grove_testbed"),
}
SIBLINGS = {"grove": "grove-operator", "grove_sandbox": "grove-sandbox", "grove_testbed": "grove-testbed"}
# Declared but not imported: an extra that installs a sibling, and pytest plugins.
NEVER_IMPORTED = {"grove-operator": {"grove-sandbox"}, "grove-sandbox": {"looptime", "pytest-asyncio"}}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All three wheels, built without a package index."""
    out = tmp_path_factory.mktemp("wheels")
    found = {}
    for name, (folder, _) in DISTRIBUTIONS.items():
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        [found[name]] = out.glob(f"{name.replace('-', '_')}-*.whl")
    return found


def files_of(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        return archive.namelist()


def test_each_wheel_contains_its_own_package_and_nothing_else(wheels: dict[str, Path]) -> None:
    for name, (_, package) in DISTRIBUTIONS.items():
        folders = {file.partition("/")[0] for file in files_of(wheels[name])}
        [metadata] = [folder for folder in folders if folder.endswith(".dist-info")]
        assert folders - {metadata} == {Path(package).name}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_wheel_contains_every_file_of_its_package(wheels: dict[str, Path], name: str) -> None:
    folder, package = DISTRIBUTIONS[name]
    source = folder / package
    expected = {
        str(Path(source.name) / path.relative_to(source))
        for path in source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert expected <= set(files_of(wheels[name]))


def test_the_sandbox_wheel_contains_its_data(wheels: dict[str, Path]) -> None:
    files = set(files_of(wheels["grove-sandbox"]))
    assert files >= {
        "grove_sandbox/apiserver/schema/definitions.json",
        "grove_sandbox/apiserver/schema/messages.json",
        "grove_sandbox/commands/demo/demo.yaml",
        "grove_sandbox/schedulers/kai/crds.yaml",
        "grove_sandbox/schedulers/koordinator/crds.yaml",
        "grove_sandbox/schedulers/volcano/crds.yaml",
        "grove_sandbox/py.typed",
    }


def test_the_operator_runs_where_the_sandbox_is_not_installed(
    wheels: dict[str, Path], tmp_path: Path
) -> None:
    """As in the operator's image: the operator's wheel and third-party packages, without the other distributions."""
    with ZipFile(wheels["grove-operator"]) as archive:
        archive.extractall(tmp_path)
    for installed in SITE_PACKAGES.iterdir():
        if "grove" not in installed.name:
            (tmp_path / installed.name).symlink_to(installed)

    def python(code: str) -> subprocess.CompletedProcess[str]:
        # -S: without it, Python would add the editable installations of this repository to the path.
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-S", "-c", code]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    assert "ModuleNotFoundError" in python("import grove_sandbox").stderr
    where = python("import grove.cli.main; print(grove.__file__)")
    assert where.returncode == 0, where.stderr
    assert where.stdout.startswith(str(tmp_path))
    run = "import sys; from grove.cli.main import run; sys.argv = ['grove', *{}]; run()"
    answer = python(run.format(["operator", "--help"]))
    assert answer.returncode == 0, answer.stderr
    assert "--config" in answer.stdout
    refusal = python(run.format(["demo"]))
    assert refusal.returncode != 0
    assert "pip install 'grove-operator[sandbox]'" in refusal.stderr


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_distribution_declares_exactly_what_it_imports(name: str) -> None:
    folder, package = DISTRIBUTIONS[name]
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    extras = [text for texts in project.get("optional-dependencies", {}).values() for text in texts]
    declared = {distribution_name(text) for text in (*project["dependencies"], *extras)}
    assert declared - NEVER_IMPORTED.get(name, set()) == imported_distributions(folder / package)


def imported_distributions(package: Path) -> set[str]:
    """Third-party and sibling distributions that the package imports, lazily or not."""
    providers = packages_distributions()
    modules = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules.add(node.module.partition(".")[0])
    foreign = modules - set(sys.stdlib_module_names) - {package.name}
    return {SIBLINGS.get(module) or distribution_name(providers[module][0]) for module in foreign}


def distribution_name(requirement: str) -> str:
    """The normalized name in a requirement such as `aiohttp>=3.12` or `grove-sandbox[testing]`."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~;\[ ]", requirement)[0]).lower()
