"""What hooks bring before a prompt: how often something relevant that the start did not have, how often noise.

Each half of the small memories is one person's, so that the start has no room for all. Their questions are prompts; the
others, in `small/prompts.txt`, are what people ask agents all day that no memory here is about.
"""

import json
from dataclasses import dataclass, field

from django.conf import settings
from django.test import Client

from accounts.actor import Actor
from accounts.keys import create_key
from accounts.people.users import add_user
from benchmarks.retrieval.small import MEMORIES, read_memories, remember
from knowledge.capture.policies import set_policy
from knowledge.models import HookEvent

PROMPTS = MEMORIES.with_name("prompts.txt")
Thing = tuple[str, str]


@dataclass
class Conversations:
    """The conversations of one person in half A or B: each a start and a prompt, over the address of the hooks."""

    half: str
    key: str = ""
    count: int = 0
    names: dict[Thing, str] = field(default_factory=dict)

    def ask(self, prompt: str) -> tuple[set[str], list[str]]:
        """Start, ask, and return what the start had and what the prompt brought."""
        self.count += 1
        conversation = f"{self.half}{self.count}"
        self._send(conversation, "SessionStart", source="startup", bigmind={"repository": "hooked"})
        self._send(conversation, "UserPromptSubmit", prompt=prompt)
        events = HookEvent.objects.filter(conversation__client_id=conversation).order_by("pk")
        started, asked = ([self.names.get((one["kind"], one["id"]), "?") for one in event.recalled] for event in events)
        return set(started), asked

    def _send(self, conversation: str, event: str, **more: object) -> None:
        body = {"session_id": conversation, "cwd": "/src/hooked", "hook_event_name": event, **more}
        headers = {"Authorization": f"Bearer {self.key}"}
        answer = Client().post("/hooks/claude-code/", json.dumps(body), "application/json", headers=headers)
        assert answer.status_code == 200, answer.content


def measure() -> list[str]:
    """Return both rates of each half."""
    settings.ALLOWED_HOSTS = ["*"]
    lines = ["| hooks before a prompt | half A | half B, held out |", "|---|---|---|"]
    columns = [_measure(half) for half in "AB"]
    names = (
        "something relevant that the start did not have",
        "lines that answer, of those brought",
        "noise off the topic",
    )
    return [*lines, *(f"| {name} | {' | '.join(cells)} |" for name, *cells in zip(names, *columns, strict=True))]


def _measure(half: str) -> list[str]:
    memories = [memory for memory in read_memories() if memory.half == half]
    actor, talks, questions = Actor.of(add_user(f"hooked-{half}".lower())), Conversations(half), []
    talks.key = create_key(actor.user).text
    set_policy(actor, mode="manual")
    off_topic = PROMPTS.read_text().splitlines()["AB".index(half) :: 2]
    for memory in memories:
        talks.names |= {thing: f"{memory.name}/{name}" for thing, name in remember(actor, memory).items()}
        asked = [(text, {f"{memory.name}/{name}" for name in answers}) for _, text, answers in memory.questions]
        questions += [(text, answers) for text, answers in asked if answers]
        off_topic += [text for sort, text, _ in memory.questions if sort == "off"]
    replies = [(answers, *talks.ask(text)) for text, answers in questions]
    new = [(answers, brought) for answers, started, brought in replies if not answers & started]
    helped = sum(bool(answers.intersection(brought)) for answers, brought in new)
    right = sum(name in answers for answers, brought in new for name in brought)
    lines = sum(len(brought) for _, brought in new)
    noise = sum(bool(talks.ask(text)[1]) for text in off_topic)
    rates = ((helped, len(new)), (right, lines), (noise, len(off_topic)))
    return [f"{part / max(1, whole):.0%} of {whole}" for part, whole in rates]
