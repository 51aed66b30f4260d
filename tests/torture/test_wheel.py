"""BigMind in an empty environment, as a person installs it: pip finds on the index what it builds with and needs."""

import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder

from tests.embedded.instance import Instance
from tests.embedded.test_wheel import build, clone, store_and_find

pytestmark = pytest.mark.torture


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    return tmp_path / "environment" / "bin"


def what_to_install(way: str, folder: Path) -> list[str]:
    if way == "wheel":
        return [str(build(folder))]
    tree = clone(folder / "clone")
    if way == "sdist":
        return list(SdistBuilder(str(tree)).build(directory=str(folder), versions=["standard"]))
    return {"clone": [f"{tree}[dev]"], "git": [f"git+file://{tree}"], "editable": ["-e", str(tree)]}[way]


@pytest.mark.parametrize("way", ["wheel", "clone", "git", "editable", "sdist"])
def test_pip_installs_bigmind_and_what_it_asks_for_and_it_runs(way: str, environment: Path, tmp_path: Path) -> None:
    subprocess.run([environment / "pip", "install", "-q", *what_to_install(way, tmp_path)], check=True)
    instance = Instance(tmp_path / "home")
    instance.program, instance.folder = [str(environment / "bigmind")], tmp_path
    instance.start()
    try:
        store_and_find(instance)
    finally:
        instance.hurry()

    installed = subprocess.run([environment / "pip", "list"], capture_output=True, text=True, check=True).stdout
    assert "torch" not in installed


def test_uvx_runs_a_clone(environment: Path, tmp_path: Path) -> None:
    subprocess.run([environment / "pip", "install", "-q", "uv"], check=True)
    command = [environment / "uvx", "--from", f"git+file://{clone(tmp_path / 'clone')}", "bigmind", "--version"]

    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert said.startswith("bigmind ")
