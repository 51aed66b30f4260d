"""What hooks of the real clients send, key by key as they were seen to."""

import json
from typing import Any
from uuid import uuid4

from django.test import Client

from accounts.models import User
from knowledge.capture import events
from knowledge.models import CapturePolicy
from tests.factories import make_key

# Tests run on busy machines: an answer that took longer than a client waits must not change what the next one says.
events.WAITS_MILLISECONDS = 60_000


class HookedClient:
    """One conversation of a client whose hooks report here."""

    def __init__(self, user: User, client: str = "claude-code", *, conversation: str = "", key: str = "") -> None:
        self.client, self.conversation = client, conversation or str(uuid4())
        self.key = key or make_key(user, scopes={"read", "write"}).text
        self.http = Client()

    def send(self, event: str, *, own: dict[str, Any] | None = None, **keys: Any) -> Any:
        """Report an event, and return what the hook prints."""
        payload = {"session_id": self.conversation, "cwd": "/src/freight-api", "hook_event_name": event, **keys}
        if own is not None:
            payload["bigmind"] = own
        answer = self.http.post(
            f"/hooks/{self.client}/",
            json.dumps(payload),
            "application/json",
            headers={"Authorization": f"Bearer {self.key}"},
        )
        assert answer.status_code == 200, answer.content
        assert len(answer.content) <= 9_500
        return json.loads(answer.content)

    def start(self, source: str = "startup", **own: Any) -> str:
        """Begin, and return what the model reads."""
        return context_in(self.send("SessionStart", source=source, own={"repository": "freight-api", **own}))

    def prompt(self, text: str, **keys: Any) -> str:
        """Ask, and return what the model reads before it."""
        event = "BeforeAgent" if self.client == "gemini-cli" else "UserPromptSubmit"
        return context_in(self.send(event, prompt=text, **keys))

    def stop(self, answer: str = "done", **keys: Any) -> Any:
        """Stop, and return what the hook prints."""
        if self.client == "gemini-cli":
            return self.send("AfterAgent", prompt_response=answer, **{"stop_hook_active": False, **keys})
        return self.send("Stop", last_assistant_message=answer, **{"stop_hook_active": False, **keys})

    def end(self, reason: str = "other", **closing: Any) -> Any:
        """End, with what the client's own record says."""
        return self.send("SessionEnd", reason=reason, own={"closing": closing} if closing else None)


def context_in(answer: dict[str, Any]) -> str:
    """Return the text that an answer adds to what the model reads."""
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def choose_mode(user: User, mode: str) -> None:
    """Let a user have their memory written in this way."""
    CapturePolicy.objects.update_or_create(user=user, defaults={"mode": mode})
