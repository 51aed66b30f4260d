"""The web server's process: `python -m bigmind.embedded.web <descriptor>...` serves the sockets it is handed."""

import socket
import sys

import uvicorn

# Long answers (an agent that listens for events) must not hold up Ctrl-C.
FINISH_WITHIN = 4


def serve(descriptors: list[int]) -> None:
    """Serve BigMind on listening sockets that the parent process opened."""
    config = uvicorn.Config(
        "bigmind.asgi:application",
        http="h11",  # httptools accepts a header that the MCP conformance suite wants refused.
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        # Nobody in front of us is known, so nobody's word for the client's address is taken.
        proxy_headers=False,
        timeout_graceful_shutdown=FINISH_WITHIN,
    )
    uvicorn.Server(config).run([socket.socket(fileno=descriptor) for descriptor in descriptors])


if __name__ == "__main__":
    serve([int(argument) for argument in sys.argv[1:]])
