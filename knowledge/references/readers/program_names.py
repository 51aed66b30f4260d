"""What people type for a program: as its package declares it. A name of a function, a file or a variable is none."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bigmind.core.errors import Invalid
from knowledge.parsers.reading import read_bytes

FOLDERS_ABOVE = 6
"""How far above a file its package's declaration is looked for."""
LARGEST_DECLARATION = 1_000_000
GO_FILES = 50

_GO_MODULE = re.compile(r"(?m)^module[ \t]{1,8}\"?([\w./~-]{1,300}?)(?:/v\d{1,4})?\"?[ \t\r]*$")
_GO_MAIN = re.compile(r"(?m)^package main\b")


def require_name(name: str, source: str) -> str:
    """Return the name of a program, if there is one.

    Raises:
        Invalid: nothing declares it, so it has to be named.
    """
    if name:
        return name
    raise Invalid(f"Nothing declares what people type for the program of `{source}`.", hint="Name it: --program NAME.")


def script_of(path: str) -> str:
    """Return the console script of `package.module:name`, else the only one of its module or package, else nothing."""
    module = path.partition(":")[0]
    scripts = {entry.name: entry.value for entry in entry_points(group="console_scripts")}
    scripts |= _scripts_of_project(module)
    plain = {name: value.partition("[")[0].replace(" ", "") for name, value in scripts.items()}
    exact = [name for name, value in plain.items() if value == path]
    of_module = [name for name, value in plain.items() if value.partition(":")[0] == module]
    package = module.partition(".")[0]
    of_package = [name for name, value in plain.items() if value.partition(":")[0].partition(".")[0] == package]
    only = next((names for names in (of_module, of_package) if len(names) == 1), [])
    return (exact[:1] or only or [""])[0]


def bin_of(file: Path) -> str:
    """Return the command that `bin` of the package.json above a file declares for it, or its only one; else nothing."""
    for folder in _folders_above(file):
        package = _read_json(folder / "package.json")
        declared = package.get("bin")
        if isinstance(declared, str) and isinstance(package.get("name"), str):
            return str(package["name"]).rpartition("/")[2]
        if isinstance(declared, Mapping) and declared:
            exact = [name for name, target in declared.items() if _same_file(folder / str(target), file)]
            only = list(declared) if len(declared) == 1 else []
            return str((exact[:1] or only or [""])[0])
    return ""


def program_of(file: Path) -> str:
    """Return the program that is built from a Rust or Go file, or a folder of them; nothing if none declares it."""
    for folder in _folders_above(file / "_" if file.is_dir() else file):
        if cargo := _read_toml(folder / "Cargo.toml"):
            package = str(_mapping(cargo.get("package")).get("name") or "")
            programs = [_mapping(each) for each in cargo.get("bin") or [] if _mapping(each).get("name")]
            exact = [each for each in programs if _same_file(folder / str(each.get("path") or ""), file)]
            only = exact or (programs if len(programs) == 1 else [])
            return str(only[0]["name"]) if only else "" if programs else package
        if module := _GO_MODULE.search(_read(folder / "go.mod")):
            # `go install` calls a main package by its folder, and that of the module by the end of its path.
            home = file if file.is_dir() else file.parent
            is_main = any(_GO_MAIN.search(_read(each)) for each in sorted(home.glob("*.go"))[:GO_FILES])
            at_root = home.absolute() == folder
            return (module[1].rpartition("/")[2] if at_root else home.name) if is_main else ""
    return ""


def _scripts_of_project(module: str) -> dict[str, str]:
    """Return the scripts of the pyproject.toml above a module: of a package that is at work and not installed."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or not spec.origin:
        return {}
    for folder in _folders_above(Path(spec.origin)):
        project = _read_toml(folder / "pyproject.toml")
        poetry = _mapping(_mapping(project.get("tool")).get("poetry"))
        for table in (_mapping(project.get("project")).get("scripts"), poetry.get("scripts")):
            if scripts := {name: value for name, value in _mapping(table).items() if isinstance(value, str)}:
                return scripts
    return {}


def _folders_above(file: Path) -> Iterator[Path]:
    yield from list(file.absolute().parents)[:FOLDERS_ABOVE]


def _same_file(target: Path, file: Path) -> bool:
    return target.exists() and file.exists() and target.resolve() == file.resolve()


def _read(path: Path) -> str:
    """Return the text of a declaration; nothing where there is none that can be read."""
    try:
        return read_bytes(path, limit=LARGEST_DECLARATION).decode(errors="replace")
    except (Invalid, OSError):
        return ""


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads(_read(path)))
    except (ValueError, RecursionError):
        return {}


def _read_toml(path: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(_read(path))
    except (ValueError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
