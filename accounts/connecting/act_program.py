"""The program for acts: shows an entry of BigMind just before an act that triggers it, or holds the act.

A client starts it before each tool, before each prompt and after each tool. It asks nobody: the triggers are in a file
that BigMind compiled and signed, and the hook program fetches in the background. What fired is reported later.

Whatever happens, it prints one JSON object and exits 0, so that the client goes on.
"""

from __future__ import annotations

import json
import os
import sys
import time

from bigmind.triggers.acts import BEFORE, ERROR, PROMPT, act_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from bigmind.triggers.acts import AgentAct

    Json = dict[str, Any]

BEGAN = time.monotonic()
LEVELS = ("shadow", "advise", "ask", "block")
INPUT_BYTES = 4 * 1024 * 1024
SET_BYTES = 4 * 1024 * 1024
LOG_BYTES = 1024 * 1024
FRESH_SECONDS = 300
AGAIN_SECONDS = 60
OLD_SECONDS = 7 * 24 * 3600
"""A set that was not confirmed for so long advises, but holds nothing any more: someone may have switched it off."""
MOST_TOLD = 3
TEXT_BYTES = 9_000
ALLOW = "bigmind allow"
ASKS_ITSELF = {"claude-code"}
"""Clients that put a hook's question to the person. The others hold the act until the person allows it in a prompt:
Gemini CLI could ask in a terminal, but with `-p` it waits for an answer that nobody can give.
"""
ADVISED = "This act was not carried out yet. If it is right after all, do it again: it will go through.\n\n"
ASKING = (
    "This act was not carried out: the person at the keyboard decides. Ask them. To let it through in this "
    "conversation they write: {allow}\n\n"
)
ASKED = (
    "BigMind asks because of what is known of such acts. To let them through in this conversation the person writes: "
    "{allow}\n\n"
)
BLOCKED = (
    "This act was not carried out, and doing it again will not help. Take the other way that is named below; if there "
    "is none, tell the person that {handles} blocks it. A curator can switch this off: {pages}\n\n"
)
UNGUARDED = (
    "BigMind cannot guard acts as it should on this machine: {problem}. Tell the person; `bigmind doctor` says more."
)
KEPT_CALLS = {
    "memory_store_fact", "memory_correct_fact", "memory_deprecate_fact", "memory_flag_important", "memory_append_chunk",
    "memory_end_session", "memory_add_hypothesis", "memory_resolve_hypothesis", "memory_update_profile",
    "memory_promote_to_global", "memory_feedback", "knowledge_set", "kb_add",
}  # fmt: skip
"""Writes that mean the same when they arrive later."""
KEPT = (
    "BigMind is away. The call is kept on this machine, without secrets, and carried out once when BigMind is back: do "
    "not send it again."
)
LOOPBACK = {"localhost": ("127.0.0.1", "::1"), "127.0.0.1": ("127.0.0.1",), "[::1]": ("::1",)}
PROBE_SECONDS = 0.05
BLOCKED_OWN = (
    "This act was not carried out, and doing it again will not help: the person chose so. They can switch it off: "
    "{pages}\n\n"
)


def read_config(client: str) -> Json | None:
    """Return the hook program's settings for a client, from the first folder that has them."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    homes = (os.environ.get("BIGMIND_HOME", ""), os.path.join(os.path.expanduser("~"), ".bigmind"))
    folders = [own, *(os.path.join(home, "hooks") for home in homes if home)]
    for folder in folders:
        config = _read_json(os.path.join(folder, f"{client}.json"))
        if config:
            return {**config, "key": config.get("key") or os.environ.get("BIGMIND_API_KEY", ""), "folder": folder}
    key = os.environ.get("BIGMIND_API_KEY", "")
    return {"client": client, "key": key, "folder": folders[-1]} if key else None


def _read_json(path: str) -> Json:
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


try:
    from _sha256 import sha256  # type: ignore[import-not-found] # the import of `hashlib` takes longer than all the rest
except ImportError:
    try:
        from _sha2 import sha256  # type: ignore[import-not-found]
    except ImportError:
        from hashlib import sha256


def sign(key: str, content: bytes) -> str:
    """Return the HMAC-SHA256 (RFC 2104) of a set, under the digest of the key, which is all that BigMind has of it."""
    secret = sha256(key.encode()).hexdigest().encode().ljust(64, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in secret) + content).digest()
    return str(sha256(bytes(byte ^ 0x5C for byte in secret) + inner).hexdigest())


class TriggerSet:
    """The triggers of one client on this machine, as BigMind signed them. A file that was changed is none."""

    def __init__(self, config: Json) -> None:
        self.path = os.path.join(config["folder"], "triggers", f"{config['client']}.set")
        self.items: list[Json] = []
        self.records = False
        self.problem = ""
        self.age = float(FRESH_SECONDS + 1)
        self._texts, self._digest = b"", ""
        try:
            with open(self.path, "rb") as file:
                signature, _, content = file.read(SET_BYTES).partition(b"\n")
            age = time.time() - os.path.getmtime(self.path)
            # Fetched while the clock ran ahead: it would stay fresh until the clock reaches that time again.
            self.age = age if age > -FRESH_SECONDS else float(FRESH_SECONDS + 1)
        except OSError:
            # Without the note that one was asked for, none has been: it comes in a moment.
            self.problem = "it has not received the guards" if os.path.exists(_path_of_request(config)) else ""
            return
        matched, _, self._texts = content.partition(b"\n")
        if not config["key"] or sign(config["key"], matched) != signature.decode("ascii", "replace"):
            self.age = OLD_SECONDS  # so that it is fetched again, however new the file is
            self.problem = "the file with the guards was changed, or is another key's"
            return
        # What is signed has the digest of the texts, which are read only if something fires.
        told = json.loads(matched)
        self._digest = told["texts"]
        self.items, self.records = told["items"], bool(told["records"])
        if self.age >= OLD_SECONDS:
            self.problem = "its guards were not confirmed for a week, so they advise and hold nothing"
        elif missing := told.get("missing"):
            self.problem = f"guards that are missing here ({len(missing)}): {', '.join(missing[:10])}"

    def texts(self) -> Json:
        """Return what each entry says, by its handle.

        Raises:
            ValueError: it was altered after it was signed.
        """
        if sha256(self._texts).hexdigest() != self._digest:
            raise ValueError("the texts were changed")
        found: Json = json.loads(self._texts)
        return found


class Moment:
    """One event of a client, and the entries that fire at it."""

    def __init__(self, client: str, told: Json, config: Json, event: str) -> None:
        self.client, self.told, self.config, self.event = client, told, config, event
        self.folder = _folder_of(told)
        self.agent = str(told.get("agent_id") or "")
        self.session = str(told.get("session_id") or "")
        self.set = TriggerSet(config)
        self.act = act_of(told, self.folder, _root_of(self.folder), event)
        self.fired: list[tuple[Json, int, bool]] = []
        self.state: Json = {}

    def answer(self) -> Json:
        """Return what the client should do, and what to tell its model."""
        if self.act is None:
            return {}
        # A sub-agent's prompt is written by an agent, which must not let itself through.
        if self.act.moment == PROMPT and not self.agent:
            self._note_allowances()
        found = [(item, number) for item in self.set.items for number in self._firing(item, self.act)]
        if not found:
            return self._warn()
        self.state = self.state or _read_json(self._state_path)
        told, texts = [], self.set.texts()
        for item, number in found:
            level = self._level(item)
            brings = level > 0 and (level > 1 or not self._is_told(item))
            self.fired.append((item, number, brings))
            if brings:
                told.append((level, item))
        return self._say(told, texts) if told else self._warn()

    def _warn(self) -> Json:
        """Say that guards are missing, before the first prompt of a conversation that finds it so."""
        if not self.set.problem or not self.session or self.agent or not self.act or self.act.moment != PROMPT:
            return {}
        self.state = self.state or _read_json(self._state_path)
        if self.state.get("warned") == self.set.problem:
            return {}
        self.state["warned"] = self.set.problem
        return self._context(UNGUARDED.format(problem=self.set.problem)) if self._write_state() else {}

    def keep_call(self) -> Json:
        """Keep what the agent wanted to store while BigMind is away, and say so; nothing for any other act."""
        tool = self.act.tool if self.act and self.act.moment == ERROR else ""
        name = next((one for one in KEPT_CALLS if tool.endswith(one)), "") if "bigmind" in tool else ""
        if not name or not self.config.get("url"):
            return {}
        program = __import__("bigmind_hook")
        if program.answers(self.config):
            return {}  # It refused the call, and would again.
        program.keep_call(self.config, self.told, name)
        return self._context(KEPT)

    def with_news(self, answer: Json) -> Json:
        """Return an answer to a prompt with the line that BigMind is away, or back, where no other hook says it."""
        if not self.act or self.act.moment != PROMPT or self.agent or not self.session or not self._is_direct():
            return answer
        # The hook program notes it there, too: one of them says it.
        since = str(_read_json(self._state_path.replace(".acts.json", ".json")).get("away") or "")
        is_there = _listens(self.config["url"])
        if is_there == (not since):
            return answer
        program = __import__("bigmind_hook")
        line = program.BACK.format(since=since) if is_there else program.AWAY
        program.write_state(self.config, self.session, away="" if is_there else time.strftime("%H:%M"))
        answer = program.with_line(self.client, self.event, answer, line)
        return answer if isinstance(answer, dict) else {}

    def _is_direct(self) -> bool:
        """Whether the client sends prompts by itself: then the hook program does not run, and nobody sees an outage."""
        config = self.config
        host = str(config.get("url") or "").partition("://")[2].partition("/")[0].rpartition(":")[0]
        is_here = host in LOOPBACK and self.client == "claude-code"
        return is_here and bool(config.get("key")) and not config.get("never") and "user" in config.get("places", [])

    def _firing(self, item: Json, act: AgentAct) -> list[int]:
        number = next((n for n, one in enumerate(item["t"]) if act.fires(one[0], one[1], one[2])), -1)
        return [number] if number >= 0 and self._is_of_project(item) else []

    def _is_of_project(self, item: Json) -> bool:
        if not item["p"]:
            return True
        if not hasattr(self, "_project"):
            # Not at the top: it imports what sending needs, and most acts need none of it. Decision 54.
            self._project = _fold(__import__("bigmind_hook").find_repository(self.folder)[0])
        return self._project in item["p"]

    def _level(self, item: Json) -> int:
        """Return how far an entry goes here and now: nobody is held after a prompt or an error."""
        level = LEVELS.index(item["l"])
        if level < 3 and item["h"] in self.state.get("allowed", []):
            return 0  # what blocks is not the person's to let through
        if self.set.age >= OLD_SECONDS or (self.act and self.act.moment == ERROR):
            return min(level, 1)
        return 1 if level == 2 and self.act and self.act.moment == PROMPT else level

    def _is_told(self, item: Json) -> bool:
        return f"{item['h']} {self.agent}" in self.state.get("told", [])

    def _say(self, told: list[tuple[int, Json]], texts: Json) -> Json:
        told.sort(key=lambda one: -one[0])
        level, handles = told[0][0], [item["h"] for _, item in told]
        self.state["told"] = [*self.state.get("told", []), *(f"{handle} {self.agent}" for handle in handles)][-200:]
        remembers = bool(self.session) and self._write_state()
        strictest = [texts[item["h"]] for one, item in told if one == level]
        said = "\n\n".join(texts[handle]["says"] for handle in handles[:MOST_TOLD])
        pages = ", ".join(text["page"] for text in strictest if text["page"])
        named = ", ".join(item["h"] for one, item in told if one == level)
        assert self.act is not None
        # Advice that cannot be remembered would hold the act each time, so it is only told.
        if self.act.moment != BEFORE or (level == 1 and not remembers):
            blocks = level == 3 and self.act.moment == PROMPT
            return self._block(_heading(3, named, pages) + said) if blocks else self._context(said)
        if level == 2 and self.client in ASKS_ITSELF:
            return self._ask(ASKED.format(allow=f"{ALLOW} {named}") + said)
        is_own = level == 3 and all(text.get("own") for text in strictest)
        head = BLOCKED_OWN.format(pages=pages) if is_own else _heading(level, named, pages)
        return self._hold(head + said)

    def _context(self, text: str) -> Json:
        return {"hookSpecificOutput": {"hookEventName": self.event, "additionalContext": _cut(text)}}

    def _hold(self, text: str) -> Json:
        if self.client == "gemini-cli":
            return {"decision": "deny", "reason": _cut(text)}
        decided = {"permissionDecision": "deny", "permissionDecisionReason": _cut(text)}
        return {"hookSpecificOutput": {"hookEventName": self.event, **decided}}

    def _ask(self, text: str) -> Json:
        decided = {"permissionDecision": "ask", "permissionDecisionReason": _cut(text)}
        return {"hookSpecificOutput": {"hookEventName": self.event, **decided}}

    def _block(self, text: str) -> Json:
        return {"decision": "block", "reason": _cut(text)}

    # ── What is kept of it ──

    @property
    def _state_path(self) -> str:
        name = "".join(char if char.isalnum() or char in "_-" else "_" for char in self.session)[:80]
        return os.path.join(self.config["folder"], "state", self.client, f"{name}.acts.json")

    def _write_state(self) -> bool:
        try:
            _write_private(self._state_path, json.dumps(self.state).encode())
        except OSError:
            return False
        return True

    def _note_allowances(self) -> None:
        """Keep which entries the person at the keyboard lets through in this conversation."""
        prompt = str(self.told.get("prompt") or "").casefold()
        at = prompt.find(ALLOW)
        if at < 0 or not self.session:
            return
        self.state = _read_json(self._state_path)
        words = {word.strip(".,;:!?\"'`)(").upper() for word in prompt[at + len(ALLOW) :][:200].split()[:10]}
        # What blocks is a curator's to lift.
        allowed = [item["h"] for item in self.set.items if item["h"] in words and item["l"] != "block"]
        if allowed:
            self.state["allowed"] = [*self.state.get("allowed", []), *allowed][-100:]
            self._write_state()

    def record(self) -> None:
        """Record what fired, to send to BigMind later; nothing for a person who wants it not counted."""
        if not self.fired or not self.set.records:
            return
        fired = [
            {"k": item["k"], "i": item["i"], "t": item["t"][number][3], "l": item["l"], "b": brings}
            for item, number, brings in self.fired
        ]
        line = {
            "id": f"{time.time_ns():x}-{os.getpid():x}",
            "at": _now(),
            "s": self.session,
            "d": self.folder,
            "f": fired,
        }
        path = os.path.join(self.config["folder"], "acts", f"{self.client}.jsonl")
        try:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
                if file.tell() < LOG_BYTES:
                    file.write(json.dumps(line).encode() + b"\n")
        except OSError:
            return


def _heading(level: int, handles: str, pages: str) -> str:
    if level == 1:
        return ADVISED
    if level == 2:
        return ASKING.format(allow=f"{ALLOW} {handles}")
    return BLOCKED.format(handles=handles, pages=pages or "on its page in BigMind")


def _cut(text: str) -> str:
    raw = text.encode()
    return text if len(raw) <= TEXT_BYTES else raw[:TEXT_BYTES].decode("utf-8", "ignore") + "…"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _fold(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _folder_of(told: Json) -> str:
    return str(told.get("cwd") or os.getcwd())


def _root_of(folder: str) -> str:
    """Return the folder of the repository around a folder; itself where there is none."""
    place = os.path.abspath(folder)
    for _ in range(64):
        if os.path.lexists(os.path.join(place, ".git")):
            return place
        above = os.path.dirname(place)
        if above == place:
            break
        place = above
    return os.path.abspath(folder)


def _is_excluded(folder: str, config: Json) -> bool:
    """Whether the person excluded this folder, on this machine or on the page Captured."""
    told = _read_json(os.path.join(config["folder"], f"{config['client']}.excluded.json")).get("never")
    never = [*(config.get("never") or []), *(told if isinstance(told, list) else [])]
    if not never:
        return False
    real = os.path.realpath(folder)
    tops = [os.path.realpath(os.path.expanduser(one)) for one in never if isinstance(one, str) and one]
    return any(real == top or real.startswith(top.rstrip(os.sep) + os.sep) for top in tops)


def _write_private(path: str, content: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    temporary = f"{path}.{os.getpid()}.part"
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
    os.replace(temporary, path)


def _listens(url: str) -> bool:
    """Whether something listens at an address of this machine. That takes less than a millisecond, also if not."""
    import _socket  # `socket` takes longer to load than all the rest

    host, _, port = url.partition("://")[2].partition("/")[0].rpartition(":")
    for address in LOOPBACK[host]:
        probe = _socket.socket(_socket.AF_INET6 if ":" in address else _socket.AF_INET, _socket.SOCK_STREAM)
        try:
            probe.settimeout(PROBE_SECONDS)
            probe.connect((address, int(port)))
        except OSError:
            continue
        finally:
            probe.close()
        return True
    return False


def _path_of_request(config: Json) -> str:
    # Its age tells when the guards were asked for last.
    return os.path.join(config["folder"], "triggers", f"{config['client']}.asked")


def _refresh(config: Json, age: float) -> None:
    """Let the hook program fetch the triggers, beside this one, which ends without it."""
    asked = _path_of_request(config)
    try:
        if age < FRESH_SECONDS or abs(time.time() - os.path.getmtime(asked)) < AGAIN_SECONDS:
            return
    except OSError:
        pass
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, "-I", "-S", os.path.join(own, "bigmind_hook.py"), config["client"], "Triggers"]
    try:
        # Noted first, because acts follow each other fast, and one of them is enough to fetch.
        _write_private(asked, b"")
        _start(command)
    except (OSError, NotImplementedError):
        return


def _start(command: list[str]) -> None:
    if sys.platform == "win32":
        import subprocess

        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
        subprocess.Popen(command, creationflags=flags, close_fds=True)  # noqa: S603 - it is this program's neighbour
        return
    # Not by `subprocess`, whose import the act would wait for. In a group of its own, because it outlives this program.
    nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    os.posix_spawn(command[0], command, os.environ, file_actions=nothing, setpgroup=0)


def main(arguments: list[str]) -> None:
    """Answer one event: print a JSON object, note what happened, and leave."""
    client = arguments[0] if arguments else ""
    moment, config, answer = None, None, {}
    try:
        told = json.loads(sys.stdin.buffer.read(INPUT_BYTES))
        event = str(told.get("hook_event_name") or "".join(arguments[1:2]))
        is_off = os.environ.get("BIGMIND_HOOKS", "").lower() in {"off", "0", "false"}
        config = None if is_off else read_config(client)
        if event == "Ping":
            took = round((time.monotonic() - BEGAN) * 1000)
            known = {} if config is None else {"status": 200, "milliseconds": took, "error": ""}
            sys.stderr.write(json.dumps(known))
        elif config and "act" in config.get("events", ["act"]) and not _is_excluded(_folder_of(told), config):
            moment = Moment(client, told, {**config, "client": client}, event)
            answer = moment.keep_call() or moment.with_news(moment.answer())
    except Exception:  # noqa: BLE001 - a client must never see this program fail
        answer = {}
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    try:
        if moment:
            moment.record()
            _refresh(moment.config, moment.set.age)
    except Exception:  # noqa: BLE001, S110
        pass
    sys.stderr.flush()
    os._exit(0)
