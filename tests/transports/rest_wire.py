"""REST as a program uses it: requests with a key, and replies as JSON."""

import json
from typing import Any

from django.test import Client

from accounts.keys import NewKey
from tests.factories import make_key


class Rest:
    """Sends requests below `/api/v1/` with a key; replies are Django's, with `.json()`."""

    def __init__(self, key: NewKey | None = None, *, client: str = "tests/1.0") -> None:
        self.key = key or make_key()
        self.client = Client(headers={"Authorization": f"Bearer {self.key.text}", "User-Agent": client})

    def get(self, path: str, headers: Any = None, **query: Any) -> Any:
        """Send a GET with its arguments in the query."""
        return self.client.get(f"/api/v1/{path}", query, headers=headers)

    def delete(self, path: str, headers: Any = None, **query: Any) -> Any:
        """Send a DELETE with its arguments in the query."""
        return self.client.delete(f"/api/v1/{path}", query_params=query, headers=headers)

    def send(self, method: str, path: str, body: Any = None, headers: Any = None) -> Any:
        """Send a request with a body: bytes as they are, anything else as JSON."""
        return self.client.generic(
            method,
            f"/api/v1/{path}",
            body if isinstance(body, bytes) else json.dumps(body).encode(),
            content_type="application/json",
            headers=headers,
        )

    def post(self, path: str, headers: Any = None, **arguments: Any) -> Any:
        """Send a POST with its arguments as JSON."""
        return self.send("POST", path, arguments, headers)


def problem_in(response: Any, status: int) -> Any:
    """Return the problem a response carries, and see that it is one in every respect."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert {"type", "title", "status", "detail", "hint", "request_id"} <= set(problem)
    assert problem["status"] == status
    assert problem["request_id"] == response["X-Request-Id"]
    assert problem["detail"].endswith("."), problem["detail"]
    return problem
