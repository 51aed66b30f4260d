"""Where commands take the sources of references from: files, folders, standard input, https addresses."""

from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from typing import Any

from bigmind.management.fetching import fetch_document
from bigmind.management.own_documentation import OWN
from knowledge.references.readers.registry import GENERATORS
from knowledge.references.readers.sources import Source

# BigMind's own documentation is read from the transports, which knowledge must not import; so its row is added here.
GENERATORS[OWN.kind] = OWN


def add_source_arguments(parser: ArgumentParser, *, many: bool = False) -> None:
    """Let a command take one source or several, and what they are."""
    about = "; ".join(f"{generator.kind}: {generator.about}" for generator in GENERATORS.values())
    parser.add_argument(
        "sources", nargs="+" if many else 1, metavar="SOURCE", help=f"A file, `-`, or an https address. {about}."
    )
    parser.add_argument("--kind", choices=["auto", *GENERATORS], default="auto", help="What it is. Default: auto.")


def sources_of(options: Mapping[str, Any]) -> Iterator[Source]:
    """Return the sources a command was given; what an address answers is fetched.

    Raises:
        Invalid: an address may not be fetched, or does not answer.
    """
    for given in options["sources"]:
        source = Source(given)
        yield Source(given, fetch_document(given)) if source.is_address else source
