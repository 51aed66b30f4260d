"""The readers of documentation, a row each, and the sources they read: a file, standard input, or what was fetched."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.module_loading import import_string

from bigmind.core.errors import Invalid
from knowledge.parsers.reading import decode_text, read_bytes
from knowledge.parsers.repositories import SourcePlace, place_of
from knowledge.references.readers.program_names import program_of
from knowledge.references.readers.reference_drafts import Generated

STDIN = "-"

SCRIPTS = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs")
RUN_IT = "Read the program by its own help instead: give its name or path as it is installed, with --kind help."
_INSTEAD = {
    "asyncapi": "AsyncAPI describes messages and no requests: write what agents need as guides (--kind curated).",
    **dict.fromkeys(
        (".graphql", ".gql", ".graphqls"),
        "GraphQL has one endpoint and no paths: write its operations as guides (--kind curated).",
    ),
    ".py": f"{RUN_IT} Or name its command: --kind click (or argparse) package.module:name.",
    ".go": RUN_IT,
    ".rs": RUN_IT,
}
"""What to do with a source that no generator reads, by the end of its name or the first word that it says."""
_ASYNCAPI_SIGN = re.compile(r"""(?m)^\s{0,8}[{]?\s{0,8}["']?asyncapi["']?\s{0,8}:""")
OPENAPI_SIGN = re.compile(r"""(?m)(?:^\s{0,8}|[{,]\s*)["']?(?:openapi|swagger(?:Version)?)["']?\s*:\s*["']?[0-9]""")


@dataclass(frozen=True)
class Source:
    """One source as it was given: a path, `-` for standard input, an address, or the name of a program or module.

    Attributes:
        fetched: What an address answered; generators fetch nothing themselves.
        program: What people type for the program that it documents; empty where the source itself declares it.
    """

    given: str
    fetched: bytes | None = None
    program: str = ""

    @property
    def path(self) -> Path:
        """What was given, as a path."""
        return Path(self.given)

    @property
    def is_address(self) -> bool:
        """Whether an address on the web was given."""
        return self.given.startswith(("https://", "http://"))

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of this machine."""
        return self.fetched is None and self.path.is_dir()

    @property
    def name(self) -> str:
        """What references call it: the address without what may be secret in it, or the name of the file."""
        if self.is_address:
            parts = urlsplit(self.given)
            return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
        return "stdin" if self.given == STDIN else self.path.name

    @cached_property
    def text(self) -> str:
        """Its text.

        Raises:
            Invalid: it is no plain file, too large, an archive, binary, or not UTF-8.
        """
        limit = source_bytes()
        if self.fetched is not None:
            return decode_text(self.fetched, self.name, limit=limit)
        if self.is_address:
            raise Invalid(f"{self.name} was not fetched.", hint="Save it as a file and give the file.")
        if self.given == STDIN:
            return decode_text(sys.stdin.buffer.read(limit + 1), self.name, limit=limit)
        return decode_text(read_bytes(self.path, limit=limit), self.name, limit=limit)


def source_bytes() -> int:
    """Return how large a source may be."""
    megabytes: int = settings.SOURCE_MEGABYTES
    return megabytes * 1024 * 1024


@dataclass(frozen=True)
class Generator:
    """One generator of references.

    Attributes:
        about: What it takes as its source, in a few words.
        function: Where the function is: it takes a `Source` and returns `Generated`. It is loaded when it is needed.
        recognises: Whether a source looks like one of its own, for `--kind auto`.
        takes: Whether a source is a file or folder, a Python module, or a program of any folder.
    """

    kind: str
    about: str
    function: str
    recognises: Callable[[Source], bool] = lambda source: False
    takes: Literal["file", "module", "program"] = "file"

    def generate(self, source: Source) -> Generated:
        """Make the references of a source.

        Raises:
            Invalid: it cannot be read at all, and why.
        """
        call: Callable[[Source], Generated] = import_string(self.function)
        return call(source)

    def place(self, source: Source) -> SourcePlace | None:
        """Return where a source is; None for an address and for an installed program, whose names say it."""
        if source.is_address or (self.takes == "program" and source.path.name == source.given):
            return None
        if self.takes == "module" or source.given == STDIN:
            return place_of(Path.cwd()).beside(source.name)
        return place_of(source.path)


def _is_openapi(source: Source) -> bool:
    return _is_readable(source, ".json", ".yaml", ".yml") and bool(OPENAPI_SIGN.search(source.text))


def _is_curated(source: Source) -> bool:
    return source.is_folder or _is_readable(source, ".json")


def _is_readable(source: Source, *suffixes: str) -> bool:
    suffix = source.path.suffix.lower()
    is_named = suffix in SCRIPTS or suffix in _INSTEAD
    return suffix in suffixes or (not is_named and (source.given == STDIN or source.fetched is not None))


GENERATORS: dict[str, Generator] = {
    row.kind: row
    for row in (
        Generator(
            "openapi",
            "an OpenAPI 3 document, JSON or YAML",
            f"{__package__}.openapi.generate",
            _is_openapi,
        ),
        Generator(
            "curated",
            "JSON in the schema of knowledge entries, a file or a folder of files",
            f"{__package__}.curated.generate",
            _is_curated,
        ),
        Generator(
            "console",
            "a console's code, TypeScript or JavaScript",
            f"{__package__}.console.typescript.generate",
            lambda source: source.path.suffix.lower() in SCRIPTS,
        ),
        # What follows runs or imports what the operator names: `auto` never takes it.
        Generator(
            "help",
            "a program to run with --help, such as `git`",
            f"{__package__}.help.command_tree.generate",
            takes="program",
        ),
        Generator(
            "click",
            "a click command or Typer app, `package.module:name`",
            f"{__package__}.python.commands.generate_click",
            takes="module",
        ),
        Generator(
            "argparse",
            "an argparse parser, or what returns one, `package.module:name`",
            f"{__package__}.python.commands.generate_argparse",
            takes="module",
        ),
        Generator(
            "django",
            "a Django project's settings, `project.settings`",
            f"{__package__}.python.django_projects.generate",
            takes="module",
        ),
    )
}
"""Every generator by its kind, in the order in which `auto` asks them."""


def generator_for(source: Source, kind: str = "auto") -> Generator:
    """Return the generator of a kind, or the first that recognises the source.

    Raises:
        Invalid: there is no such kind, or none recognises it.
    """
    if kind in GENERATORS:
        return GENERATORS[kind]
    kinds = ", ".join(GENERATORS)
    if kind != "auto":
        raise Invalid(f"There is no generator {kind}.", hint=f"There are: {kinds}.")
    is_asyncapi = _is_readable(source, ".json", ".yaml", ".yml") and _ASYNCAPI_SIGN.search(source.text)
    for generator in GENERATORS.values():
        if not is_asyncapi and generator.recognises(source):
            return generator
    suffix = source.path.suffix.lower()
    hint = _INSTEAD.get("asyncapi" if is_asyncapi else suffix, f"Say which with --kind: {kinds}.")
    if suffix in (".go", ".rs") and source.fetched is None and (program := program_of(source.path)):
        hint = f"Its program is `{program}`. Where that is installed: bigmind references_import {program} --kind help."
    raise Invalid(f"No generator recognises {source.name}.", hint=hint)


def read_uploaded(content: bytes, name: str, program: str = "") -> Generated:
    """Make the references of a file that someone sent: nothing is run, and no other file is read.

    Raises:
        Invalid: it cannot be read, or holds nothing to make references from.
    """
    source = Source(name, content, program)
    generated = generator_for(source).generate(source)
    require_drafts(generated, source)
    return generated


def require_drafts(generated: Generated, source: Source) -> None:
    """Require that something was made of a source.

    Raises:
        Invalid: nothing was, and why.
    """
    if not generated.drafts:
        why = generated.problems[0].says if generated.problems else "Give another file, or say --kind."
        raise Invalid(f"{source.name} holds nothing to make references from.", hint=why)
