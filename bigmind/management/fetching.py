"""Fetches a document from an address that a user gave: https only, public addresses only, up to a size."""

from http import HTTPStatus
from urllib.parse import urlsplit

import httpx

from bigmind.core.addresses import AddressRefused, fetch
from bigmind.core.errors import Invalid
from knowledge.references.readers.sources import source_bytes

SECONDS = 60
HINT = "Save it as a file, and give that."


def fetch_document(url: str) -> bytes:
    """Return what an address answers. A redirection is not followed: it could lead anywhere.

    Raises:
        Invalid: it is not https, leads into a private network, or does not answer with a document.
    """
    parts = urlsplit(url)
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
