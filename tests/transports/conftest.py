"""What the tests of the transports share: the running server."""

from tests.serving import served, web_process

__all__ = ["served", "web_process"]
