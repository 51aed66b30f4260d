"""MCP as it looks on the wire: requests of every revision, sent without a client library."""

import json
from typing import Any

import httpx

from tests.embedded.instance import Instance
from tests.serving import Served

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISION = "2026-07-28"
CLIENT = {"name": "wire", "version": "1.0"}


class Wire:
    """A connection that shows a key and speaks one revision."""

    def __init__(
        self,
        served: Served | Instance,
        key: str,
        *,
        revision: str = STATELESS_REVISION,
        path: str = "/mcp",
        timeout: float = 20,
        connections: int | None = 100,
    ) -> None:
        self.revision = revision
        self.path = path
        self.http = httpx.Client(
            base_url=served.url,
            timeout=timeout,
            limits=httpx.Limits(max_connections=connections),
            headers={"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"},
        )

    def initialize(self, name: str = CLIENT["name"]) -> dict[str, Any]:
        """Do the handshake under a client's name, and keep to the session it opens."""
        params = {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": {**CLIENT, "name": name}}
        response = self.send("initialize", params, stateless=False)
        self.http.headers["MCP-Protocol-Version"] = response.json()["result"]["protocolVersion"]
        self.http.headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        self.http.post(self.path, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        result: dict[str, Any] = response.json()["result"]
        return result

    def send(
        self, method: str, params: dict[str, Any] | None = None, *, stateless: bool | None = None
    ) -> httpx.Response:
        """Send one request; since 2026-07-28 each says in an envelope who sends it and in which revision."""
        params = dict(params or {})
        headers: dict[str, str] = {}
        if stateless if stateless is not None else self.revision == STATELESS_REVISION:
            params["_meta"] = {**envelope(self.revision), **params.get("_meta", {})}
            headers = {"MCP-Protocol-Version": self.revision, "Mcp-Method": method}
            if name := params.get("name") or params.get("uri"):
                headers["Mcp-Name"] = name
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        # Python's own JSON, not that of httpx: it writes half a surrogate pair, and numbers that are none.
        headers["Content-Type"] = "application/json"
        return self.http.post(self.path, content=json.dumps(message), headers=headers)

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        params: dict[str, Any] = {"name": tool, "arguments": arguments or {}}
        response = self.send("tools/call", params | ({"_meta": meta} if meta else {}))
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()["result"]
        return result


def text_of(result: dict[str, Any]) -> str:
    """Return what an agent reads of a result."""
    text: str = result["content"][0]["text"]
    return text


def envelope(revision: str) -> dict[str, Any]:
    """Return what each request says about its sender since 2026-07-28."""
    reserved = {"protocolVersion": revision, "clientCapabilities": {}, "clientInfo": CLIENT}
    return {f"io.modelcontextprotocol/{name}": value for name, value in reserved.items()}
