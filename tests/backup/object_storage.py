"""Object storage for tests: moto's server plays S3, and a bucket is there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

KEY, SECRET = "AKIAPLANTEDKEY", "planted-secret-of-the-storage"
_SIGNED = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"
}


class ObjectStorage:
    """One server, with the variables that lead there."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.variables = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }

    def refuse_everybody(self) -> None:
        """Know no key from now on."""
        httpx.post(f"{self.url}/moto-api/reset-auth", content=b"0")


@contextmanager
def serve_object_storage() -> Iterator[ObjectStorage]:
    """Serve it on a port of its own, without a word on the terminal."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        storage = ObjectStorage(f"http://127.0.0.1:{port}")
        httpx.put(f"{storage.url}/backups", headers=_SIGNED).raise_for_status()
        before = {name: os.environ.pop(name, None) for name in storage.variables}
        os.environ.update(storage.variables)
        yield storage
        os.environ.update({name: value for name, value in before.items() if value is not None})
    finally:
        for name in storage.variables:
            os.environ.pop(name, None)
        server.stop()
