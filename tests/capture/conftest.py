"""The running server, for conversations over HTTP."""

from tests.serving import served, web_process

__all__ = ["served", "web_process"]
