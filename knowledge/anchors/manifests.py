"""Settings, dependencies and commands in files that are no source code: manifests, lock files, configuration."""

import configparser
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from bigmind.core.errors import Invalid
from knowledge.parsers.yaml_nodes import read_plain_yaml

LARGEST = 2_000_000
MOST_VALUES = 50_000
DEEPEST = 32
MOST_DOTS = 100
"""In one key of TOML."""
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FLAG = re.compile(r"--?[A-Za-z0-9][A-Za-z0-9_-]*")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_LISTS = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "dev-dependencies")


def settings_of(path: str, text: str) -> dict[str, str]:
    """Return the settings of a configuration file, each by its dotted name.

    Raises:
        ValueError: it cannot be read.
    """
    if PurePosixPath(path).suffix.lower() in {".ini", ".cfg", ".conf"}:
        return _sections(text)
    document = _document(path, text)
    return dict(_flat(document)) if document is not None else _lines(text)


def dependencies_of(path: str, text: str) -> dict[str, str]:
    """Return the dependencies that a manifest or a lock file declares, by `plain_name`, with the versions it asks for.

    Raises:
        ValueError: it cannot be read.
    """
    return {plain_name(name): version for name, version in _dependencies(path, text)}


def plain_name(name: str) -> str:
    """Return the name of a dependency as it is compared: `Foo_Bar` and `foo-bar` are one."""
    return name.strip().casefold().replace("_", "-")


def _dependencies(path: str, text: str) -> Iterable[tuple[str, str]]:
    name = PurePosixPath(path).name.lower()
    if name == "go.mod":
        return _go_modules(text)
    if name == "pom.xml":
        return _maven(text).items()
    if name.endswith((".txt", ".in", ".cfg")):
        return _requirements(text.splitlines())
    # `setup.py` is a program and is not run: requirements are what stands in quotes on lines of their own.
    if name.endswith(".py"):
        return _requirements([line for line in text.splitlines() if line.strip()[:1] in {"'", '"'}])
    document = _document(path, text)
    return _read_lists(document) if isinstance(document, Mapping) else ()


def commands_of(path: str, text: str) -> frozenset[str]:
    """Return the commands that a file declares, and the options that stand in it."""
    name, document = PurePosixPath(path).name.lower(), None
    if name in {"package.json", "composer.json", "pyproject.toml"}:
        document = _document(path, text)
    scripts = [document, _within(document, "project"), _within(document, "tool", "poetry")]
    named = [key for each in scripts for key in _within(each, "scripts")]
    targets = [line.partition(":")[0] for line in text.splitlines() if ":" in line and not line[:1].isspace()]
    return frozenset([*named, *(word for line in targets for word in line.split()), *_FLAG.findall(text)])


def is_outside(requirement: str, stated: str) -> bool | None:
    """Return whether the versions that are asked for are outside of those that an entry states; None if unclear.

    What is asked for counts by the lowest version it names; `5.2` states any version that begins so.
    """
    if "||" in stated:
        answers = {is_outside(requirement, one) for one in stated.split("||")}
        return False if False in answers else None if None in answers else True
    found, stated = _NUMBERS.search(requirement), stated.strip()
    if found is None or not stated:
        return None
    if not re.search(r"[<>=~!^]", stated):
        # `18.x` and `1.*` name a beginning, as `18` does; `1.2 - 1.4` of npm is left unread.
        expected, has = stated.lstrip("v").rstrip(".xX*").split("."), found[0].split(".")
        return None if " " in stated else expected != [""] and has[: len(expected)] != expected
    try:
        return Version(found[0]) not in SpecifierSet(_as_specifier(stated), prereleases=True)
    except ValueError:  # A number of thousands of digits, too: both errors of the package are this one.
        return None


def version_in(version: str, text: str) -> str:
    """Return the longest beginning of a version, of two parts at least, that stands in a text; empty if none does."""
    found = _NUMBERS.search(version)
    whole = f"{found[0]}." if found else ""
    versions = {one for one in _NUMBERS.findall(text) if "." in one}
    return max((one for one in versions if whole.startswith(f"{one}.")), key=len, default="")


def same_length(requirement: str, stated: str) -> str:
    """Return the version that is asked for with as many parts as the one an entry states; empty if none is asked."""
    found = _NUMBERS.search(requirement)
    return ".".join(found[0].split(".")[: stated.count(".") + 1]) if found else ""


def major_of(requirement: str) -> str:
    """Return the part of a version that promises compatibility: `5` of `~=5.2`, `0.3` of `^0.3.1`."""
    found = _NUMBERS.search(requirement)
    parts = found[0].split(".") if found else [""]
    return ".".join(parts[:2]) if parts[0] == "0" else parts[0]


def _as_specifier(stated: str) -> str:
    """Return `^1.2` and `~1.2` of npm as PEP 440 writes them."""
    parts = []
    for part in stated.replace(" ", ",").split(","):
        plain = part.strip().lstrip("v")
        if plain.startswith("^") or (plain.startswith("~") and not plain.startswith("~=")):
            plain = f">={plain[1:]},<{_first_above(plain[1:], within_minor=plain[0] == '~')}"
        elif plain.startswith("=") and not plain.startswith("=="):
            plain = f"={plain}"
        parts.append(plain)
    return ",".join(part for part in parts if part)


def _first_above(version: str, *, within_minor: bool) -> str:
    """Return the first version that `~version` no longer allows, or `^version`: it keeps what is left of a change.

    `~` keeps the second number, where there is one; `^` the first that is not 0, and all where all are 0. Source: the
    ranges of npm's semver, which Cargo and Poetry read alike.
    """
    numbers = [int(number) for number in (_NUMBERS.match(version) or [""])[0].split(".")]
    first = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
    last = min(1, len(numbers) - 1) if within_minor else first
    return ".".join(map(str, [*numbers[:last], numbers[last] + 1]))


def _document(path: str, text: str) -> Any:
    """Return the values of a TOML, JSON or YAML file; None for others."""
    if len(text) > LARGEST:
        raise ValueError("it is too large")
    readers: dict[str, Callable[[str], Any]] = {
        **dict.fromkeys((".toml", ".lock"), _toml),
        **dict.fromkeys((".json", ".jsonc"), json.loads),
        **dict.fromkeys((".yaml", ".yml"), lambda given: _yaml(given, path)),
    }
    reader = readers.get(PurePosixPath(path).suffix.lower())
    try:
        return reader(text) if reader else None
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _toml(text: str) -> Any:
    # For each part of a dotted key the parser keeps all those before it: 64 KiB of dots would take gigabytes.
    for line in text.splitlines():
        if line.count(".") > MOST_DOTS and any(
            part.count(".") > MOST_DOTS for part in _QUOTED.sub("", line).split(",")
        ):
            raise ValueError("it is nested too deep")
    return tomllib.loads(text)


def _yaml(text: str, path: str) -> Any:
    try:
        return read_plain_yaml(text, path)
    except Invalid as refusal:
        raise ValueError(str(refusal)) from None


def _flat(document: Any) -> Iterator[tuple[str, str]]:
    waiting, seen = [("", document, 0)], 0
    while waiting and seen < MOST_VALUES:
        name, value, depth = waiting.pop()
        seen += 1
        inner: list[tuple[str, Any]] = []
        if isinstance(value, Mapping) and depth < DEEPEST:
            inner = [(str(key), each) for key, each in value.items()]
        elif isinstance(value, list) and depth < DEEPEST and any(isinstance(each, dict | list) for each in value):
            inner = [(str(number), each) for number, each in enumerate(value)]
        waiting += [(f"{name}.{key}" if name else key, each, depth + 1) for key, each in inner]
        if name and not inner:
            yield name, value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _sections(text: str) -> dict[str, str]:
    # Raw, because `%` is common in values, and no interpolation. What Python itself refuses, such as a name twice, is
    # still read.
    reader = configparser.RawConfigParser(strict=False, allow_no_value=True, delimiters=("=", ":"))
    try:
        reader.read_string(text)
    except configparser.Error as error:
        raise ValueError(str(error).partition("\n")[0]) from None
    return {f"{section}.{name}": value or "" for section in reader.sections() for name, value in reader.items(section)}


def _lines(text: str) -> dict[str, str]:
    """Return the `NAME=value` and `name: value` lines of a file, such as .env, .properties or a Dockerfile."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        plain = line.strip().removeprefix("export ").removeprefix("ENV ").removeprefix("ARG ")
        equals = min((at for at in (plain.find("="), plain.find(":")) if at > 0), default=0)
        if equals and not plain.startswith(("#", "//", ";")) and " " not in (name := plain[:equals].strip()):
            found.setdefault(name, plain[equals + 1 :].strip().strip("\"'"))
    return found


def _within(document: Any, *names: str) -> Mapping[str, Any]:
    for name in names:
        document = document.get(name) if isinstance(document, Mapping) else None
    return document if isinstance(document, Mapping) else {}


def _read_lists(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the dependencies of pyproject.toml, package.json, Cargo.toml, and of lock files beside them."""
    project = _within(document, "project")
    lists = [project.get("dependencies"), _within(document, "build-system").get("requires")]
    lists += [*_within(project, "optional-dependencies").values(), *_within(document, "dependency-groups").values()]
    for each in lists:
        yield from _requirements([line for line in each if isinstance(line, str)] if isinstance(each, list) else [])
    poetry = _within(document, "tool", "poetry")
    tables = [_within(source, name) for source in (document, poetry) for name in _LISTS]
    tables += [_within(group, "dependencies") for group in _within(poetry, "group").values()]
    for table in tables:
        for name, requirement in table.items():
            version = requirement.get("version", "") if isinstance(requirement, Mapping) else requirement
            yield name, str(version)
    packages = document.get("package")
    for package in packages if isinstance(packages, list) else []:
        if isinstance(package, Mapping) and "name" in package:
            yield str(package["name"]), str(package.get("version", ""))
    for place, package in _within(document, "packages").items():
        if isinstance(package, Mapping) and place.startswith("node_modules/"):
            yield place.removeprefix("node_modules/"), str(package.get("version", ""))


def _requirements(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        plain = line.partition(";")[0].partition(" #")[0].strip().strip("\"',").rstrip(" \\")
        if found := _NAME.match(plain):
            rest = plain[found.end() :].strip()
            constraint = (rest.partition("]")[2] if rest.startswith("[") else rest).strip(" ()")
            if not constraint or constraint[0] in "<>=~!@":
                yield found[0], constraint


def _go_modules(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        words = line.partition("//")[0].removeprefix("require").split()
        if len(words) == 2 and words[1].startswith("v"):
            yield words[0], words[1]


def _maven(text: str) -> dict[str, str]:
    try:
        root = fromstring(text.encode()[:LARGEST])
    except (ParseError, DefusedXmlException, LookupError, RecursionError) as error:
        raise ValueError(str(error)) from None
    properties, found = dict[str, str](), dict[str, str]()
    for node in root.iter():
        tag = node.tag.rpartition("}")[2]
        if tag == "properties":
            properties = {f"${{{child.tag.rpartition('}')[2]}}}": (child.text or "").strip() for child in node}
        elif tag in {"dependency", "plugin", "parent"}:
            parts = {child.tag.rpartition("}")[2]: (child.text or "").strip() for child in node}
            found[f"{parts.get('groupId', '')}:{parts.get('artifactId', '')}"] = parts.get("version", "")
    return {name: properties.get(version, version) for name, version in found.items()}
