"""Environments beside that of the tests, for programs whose packages BigMind does not need."""

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def python_with(name: str) -> Path:
    """Return the interpreter of the environment with `requirements/<name>.txt`, made once until that file changes."""
    requirements, environment = ROOT / "requirements" / f"{name}.txt", ROOT / ".make" / name
    python, made_from = environment / "bin" / "python", environment / "made-from"
    wanted = sha256(requirements.read_bytes()).hexdigest()
    if not made_from.exists() or made_from.read_text() != wanted:
        _run(sys.executable, "-m", "venv", "--clear", "--without-pip", str(environment))
        # Of whose every dependency the file has the hash, so there is nothing to resolve.
        install = "install", "--quiet", "--require-hashes", "--no-deps"
        try:
            _run(sys.executable, "-m", "uv", "pip", *install, "--python", str(python), "-r", str(requirements))
        except subprocess.CalledProcessError:  # An index may be named to pip alone.
            _install_with_pip(python, *install, "-r", str(requirements))
        made_from.write_text(wanted)
    return python


def _install_with_pip(python: Path, *arguments: str) -> None:
    """Install from the package index; where there is none the test is skipped, but not where it must run."""
    try:
        _run(sys.executable, "-m", "pip", "--python", str(python), *arguments, "--no-compile")
    except subprocess.CalledProcessError as failed:
        if os.environ.get("CI"):
            pytest.fail(failed.stderr)
        pytest.skip(f"The packages could not be installed: {failed.stderr.strip().splitlines()[-1:]}")


def _run(*command: str) -> None:
    subprocess.run(command, capture_output=True, text=True, check=True)
