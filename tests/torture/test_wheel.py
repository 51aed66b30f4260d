"""The wheel in an empty environment, as a person installs it: pip finds all that it asks for on the index."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.embedded.instance import Instance
from tests.embedded.test_wheel import build, store_and_find

pytestmark = pytest.mark.torture


def test_pip_installs_the_wheel_and_what_it_asks_for_and_it_runs(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    subprocess.run([environment / "bin" / "pip", "install", "-q", build(tmp_path / "dist")], check=True)
    instance = Instance(tmp_path / "home")
    instance.program, instance.folder = [str(environment / "bin" / "bigmind")], tmp_path
    instance.start()
    try:
        store_and_find(instance)
    finally:
        instance.hurry()

    installed = subprocess.run([environment / "bin" / "pip", "list"], capture_output=True, text=True, check=True).stdout
    assert "torch" not in installed
