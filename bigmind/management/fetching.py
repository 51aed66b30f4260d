"""Fetching a document that somebody named: https only, public addresses only, up to a size."""

from urllib.parse import urlsplit

import httpx

from bigmind.core.errors import Invalid
from curation.services.addresses import Refused, public_address
from knowledge.generators.sources import source_bytes

SECONDS = 30


def fetched(url: str) -> bytes:
    """Return what an address answers, up to a little more than a source may have.

    A redirection is not followed: it could lead anywhere.

    Raises:
        Invalid: it is not https, leads into a private network, or does not answer with a document.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or parts.username:
        raise Invalid("Only https addresses without a password are fetched.", hint="Save it as a file, and give that.")
    try:
        address, host = public_address(url)
    except Refused as error:
        # That webhooks may be let into a private network does not help here.
        why = str(error).partition(" BIGMIND_")[0]
        raise Invalid(f"{parts.hostname}: {why}", hint="Save it as a file, and give that.") from error
    try:
        return _body(address, host, parts.netloc)
    except httpx.HTTPError as error:
        raise Invalid(f"{host} does not answer: {error}.", hint="Save it as a file, and give that.") from error


def _body(address: str, host: str, named: str) -> bytes:
    limit, body = source_bytes(), bytearray()
    headers = {"Host": named, "Accept": "application/json, application/yaml, */*"}
    with httpx.Client(timeout=SECONDS, follow_redirects=False, trust_env=False) as client:
        request = client.build_request("GET", address, headers=headers, extensions={"sni_hostname": host})
        answer = client.send(request, stream=True)
        try:
            if answer.status_code != httpx.codes.OK:
                raise Invalid(f"{host} answers {answer.status_code}.", hint="Give the address of the document itself.")
            for part in answer.iter_bytes():
                body += part
                if len(body) > limit:
                    break
        finally:
            answer.close()
    return bytes(body)
