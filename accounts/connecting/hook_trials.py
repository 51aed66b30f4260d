"""Trials of installed hooks: runs each entry as its client would, with an event that changes nothing."""

import json
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from .edited_files import entries_in_file
from .files import find_file
from .hook_files import HookConfig, HookFolder, LastFailure
from .hooks import CLIENTS_WITH_HOOKS, ClientHooks, HookProgram, is_ours
from .machines import Machine
from .malformed import MalformedFile

SECONDS = 10
Answer = tuple[int | None, int, str]
PING = {"hook_event_name": "Ping", "session_id": "doctor"}


@dataclass(frozen=True)
class HookTrial:
    """The trial of one client's hooks in one place.

    Attributes:
        place: `user`, or the folder of a project.
        entries: How many entries are installed.
        status: What BigMind answered, as a status of HTTP; 0 when there was no answer, None when nothing asked it.
        milliseconds: How long the slowest entry took, from its start to its end.
        error: What went wrong, in words; empty when nothing did.
        waiting: How many events wait to be sent, and their bytes.
        untrusted: How many of the entries the client does not run, because nobody has trusted them yet.
    """

    client: str
    place: str
    entries: int
    status: int | None = None
    milliseconds: int = 0
    error: str = ""
    waiting: tuple[int, int] = (0, 0)
    last_failure: LastFailure | None = None
    untrusted: int = 0


def try_hooks(folder: HookFolder, machine: Machine) -> Iterator[HookTrial]:
    """Run the hooks of each client, wherever they are installed, and yield the results."""
    for client in CLIENTS_WITH_HOOKS:
        config = folder.config_of(client.slug)
        for place in config.places if config else []:
            assert config is not None
            yield _try_place(folder, machine, client, config, place)


def _try_place(folder: HookFolder, machine: Machine, client: ClientHooks, config: HookConfig, place: str) -> HookTrial:
    project = None if place == "user" else Path(place)
    try:
        entries = entries_in_file(client, machine, project)
    except MalformedFile as error:
        return HookTrial(client.slug, place, 0, error=f"{client.file(machine, project)}, {error}")
    program = folder.program(client.slug, machine)
    hooks = {json.dumps(hook, sort_keys=True): hook for entry in entries for hook in entry.get("hooks", [entry])}
    answers = [_call(hook) if "url" in hook else _run(hook, program, client.slug) for hook in hooks.values()]
    worst = next(
        (answer for answer in answers if answer[2]), answers[0] if answers else (None, 0, "no entries are left")
    )
    return HookTrial(
        client.slug,
        place,
        len(entries),
        worst[0],
        max((answer[1] for answer in answers), default=0),
        worst[2],
        folder.waiting(client.slug),
        folder.last_failure(client.slug),
        _count_untrusted(client, machine, project) if client.slug == "codex" else 0,
    )


def _call(hook: dict[str, Any]) -> Answer:
    """Send the same event as the client would."""
    began = time.monotonic()
    try:
        answer = httpx.post(hook["url"], json=PING, headers=hook.get("headers", {}), timeout=SECONDS)
    except httpx.HTTPError as error:
        return 0, _since(began), str(error) or type(error).__name__
    words = "" if answer.status_code == 200 else f"BigMind answers {answer.status_code}"
    return answer.status_code, _since(began), words


def _run(hook: dict[str, Any], program: HookProgram, client: str) -> Answer:
    """Run the command as the client does, in a shell; on Windows, where each has another one, the program itself."""
    command = ["/bin/sh", "-c", str(hook.get("command") or hook.get("bash"))]
    if sys.platform == "win32":
        command = [program.python, "-I", "-S", program.file, client]
    began = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S603 - it is what the client runs
            command, input=json.dumps(PING).encode(), capture_output=True, timeout=SECONDS, check=False
        )
        took = _since(began)
        told = json.loads(done.stderr.decode().strip().splitlines()[-1]) if done.stderr.strip() else {}
        printed = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return None, _since(began), f"the hook program did not end within {SECONDS} s"
    except (OSError, ValueError) as error:
        said = error if isinstance(error, OSError) else "the hook program is missing or does not start"
        return None, _since(began), str(said)
    if not isinstance(printed, dict) or "status" not in told:
        return None, took, "the hook program is switched off, or what it is told is malformed"
    return told["status"], took, told["error"]


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _count_untrusted(client: ClientHooks, machine: Machine, project: Path | None) -> int:
    """Return how many of our entries Codex does not trust yet: it records trust by file, event and position."""
    file = client.file(machine, project)
    config = find_file(machine.folder_of("CODEX_HOME", machine.home / ".codex") / "config.toml")
    try:
        states = tomllib.loads(config.text).get("hooks", {}).get("state", {})
        lists = json.loads(find_file(file).text).get("hooks", {})
    except (ValueError, AttributeError):
        return 0
    names = [
        f"{file}:{_snake(name)}:{position}:0"
        for name in dict.fromkeys(event.name for event in client.events)
        for position, entry in enumerate(lists.get(name, []))
        if is_ours(entry)
    ]
    return sum(not (isinstance(states.get(name), dict) and states[name].get("trusted_hash")) for name in names)


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).strip("_")
