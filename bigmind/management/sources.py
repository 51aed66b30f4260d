"""Where commands take the sources of references from: files, folders, standard input, https addresses."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import httpx

from bigmind.core.errors import Invalid
from bigmind.management.base import Argument, argument
from bigmind.network.addresses import AddressRefused, fetch
from knowledge.references.readers.registry import GENERATORS, Source, source_bytes

SECONDS = 60
HINT = "Save it as a file, and give that."


def fetch_document(url: str) -> bytes:
    """Return what an address answers. A redirection is not followed: it could lead anywhere.

    Raises:
        Invalid: it is not https, leads into a private network, or does not answer with a document.
    """
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise Invalid(f"Only https addresses are fetched. {error}.", hint=HINT) from error
    if parts.scheme != "https" or parts.username:
        raise Invalid("Only https addresses without a password are fetched.", hint=HINT)
    try:
        answer = fetch(url, most_bytes=source_bytes(), seconds=SECONDS)
    except AddressRefused as error:
        raise Invalid(f"{parts.hostname} was not fetched. {error}", hint=HINT) from error
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # A name that cannot be encoded is a ValueError.
        raise Invalid(f"{parts.hostname} does not answer: {error}.", hint=HINT) from error
    if answer.status != HTTPStatus.OK:
        raise Invalid(f"{parts.hostname} answers {answer.status}.", hint="Give the address of the document itself.")
    return answer.body


def source_arguments(*, many: bool = False) -> tuple[Argument, ...]:
    """Return the arguments by which a command takes one source or several, and what they are."""
    about = "; ".join(f"{generator.kind}: {generator.about}" for generator in GENERATORS.values())
    return (
        argument(
            "sources", nargs="+" if many else 1, metavar="SOURCE", help=f"A file, `-`, or an https address. {about}."
        ),
        argument("--kind", choices=["auto", *GENERATORS], default="auto", help="What it is. Default: auto."),
        argument("--program", default="", metavar="NAME", help="What people type for it. Default: as it declares."),
    )


def sources_of(options: Mapping[str, Any]) -> Iterator[Source]:
    """Return the sources a command was given; what an address answers is fetched.

    Raises:
        Invalid: an address may not be fetched, or does not answer.
    """
    for given in options["sources"]:
        source = Source(given, program=options.get("program", ""))
        yield replace(source, fetched=fetch_document(given)) if source.is_address else source
