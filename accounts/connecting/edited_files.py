"""The parts of a connection: the files that tell a program about BigMind, and how to write and remove our part."""

import json
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, Literal, Protocol

from bigmind.core.errors import Invalid

from . import instruction_files, json_text, toml_text
from .files import find_file
from .hooks import PROGRAM_FILE, ClientHooks, HookConnection, is_for_acts, is_for_conversation, is_ours
from .machines import Machine
from .malformed import MalformedFile
from .opencode_plugin import COMMAND_IN_PLUGIN, plugin_of
from .server_config import ServerConfig
from .server_entries import Setting, Settings
from .supported_clients import AgentProgram


class ConfigurationFormat(Protocol):
    """The interface of a configuration format, implemented by the modules `json_text` and `toml_text`."""

    def read_setting(self, text: str, setting: Setting) -> Any:
        """Return what the file says at the place of a setting, or None."""

    def with_setting(self, text: str, setting: Setting) -> str:
        """Return the text with a setting in it."""

    def without_setting(self, text: str, setting: Setting, *, before: str = "") -> str:
        """Return the text without a setting."""


KEY = re.compile(r"\bbm_[0-9A-Za-z]{38}\b")
SHOWN_CHARS = 8


@dataclass(frozen=True)
class ClientFile:
    """One file of a connection.

    Attributes:
        write: Returns its text with our part in it.
        remove: Returns its text without our part; the second text is how the file was before us.
        holds_key: Whether our part has a key in it.
    """

    path: Path
    kind: Literal["configuration", "instructions", "hooks"]
    write: Callable[[str], str]
    remove: Callable[[str, str], str]
    holds_key: bool = False


@dataclass(frozen=True)
class ByHand:
    """What only a person can do: the text, and where in the program it belongs."""

    place: str
    text: str


def parts_of(
    program: AgentProgram,
    config: ServerConfig,
    machine: Machine,
    project: Path | None = None,
    *,
    has_hooks: bool = False,
) -> list[ClientFile]:
    """Return the files of a connection: those of the person, or those of a project.

    A project's file is read by colleagues too, who may have no hooks.

    Raises:
        Invalid: the program knows no projects.
    """
    if project is None:
        return [
            *_configuration_of_person(program, config, machine),
            *_instructions_of_person(program, machine, has_hooks=has_hooks),
        ]
    instructions = program.project_instructions
    if instructions is None:
        raise Invalid(f"{program.name} knows no projects.", hint="Leave out --project.")
    names = [project / name for name in instructions.names]
    place = next((path for path in names if path.exists()), names[0])
    told = _instructions(place, instructions.heading)
    if not program.project_configuration or program.project_settings is None:
        return [*_configuration_of_person(program, config, machine), told]
    return [_configuration(project / program.project_configuration, program.project_settings, config), told]


def with_hooks(
    parts: list[ClientFile],
    client: ClientHooks,
    connection: HookConnection,
    machine: Machine,
    project: Path | None = None,
) -> list[ClientFile]:
    """Return the files of a connection with the hooks that were consented to; the others of ours are taken out.

    Some clients keep hooks and servers in one file, which is then written once.
    """
    place = client.file(machine, project)
    hooks = (_plugin if client.is_script else _hooks)(client, connection, place)
    beside = [part for part in parts if part.path == hooks.path]
    if not beside:
        return [*parts, hooks]
    return [_both(part, hooks) if part in beside else part for part in parts]


def has_hooks(client: ClientHooks, machine: Machine, project: Path | None = None) -> bool:
    """Whether hooks of BigMind stand in the client's file."""
    try:
        return bool(entries_in_file(client, machine, project))
    except MalformedFile:  # changing it will report that
        return PROGRAM_FILE in find_file(client.file(machine, project)).text


def entries_in_file(client: ClientHooks, machine: Machine, project: Path | None = None) -> list[Any]:
    """Return BigMind's entries in the client's file of hooks, whichever version of BigMind wrote them.

    Raises:
        MalformedFile: the file is not JSON.
    """
    text = find_file(client.file(machine, project)).text
    if client.is_script:
        return [{"command": command} for command in _command_in(text)]
    names = dict.fromkeys(event.name for event in client.events)
    return [entry for name in names for entry in json_text.read_items(text, ("hooks", name), is_ours)]


def by_hand(program: AgentProgram, config: ServerConfig, project: Path | None = None) -> list[ByHand]:
    """Return the steps that need a person, because no file covers them."""
    steps = []
    if program.configure_by_hand:
        entry = {setting.within: {setting.name: setting.value} for setting in program.settings(config)}
        steps.append(ByHand(program.configure_by_hand, json.dumps(entry, indent=2, ensure_ascii=False)))
    if program.instruct_by_hand and project is None:
        steps.append(ByHand(program.instruct_by_hand, instruction_files.rules_in_file()))
    return steps


def present_key(program: AgentProgram, config: ServerConfig, machine: Machine) -> str:
    """Return the key that a person's configuration has for us already, or an empty text."""
    if program.configuration is None:
        return ""
    found = find_file(program.configuration(machine))
    entries = [_format_of(found.path).read_setting(found.text, setting) for setting in program.settings(config)]
    key = KEY.search(json.dumps(entries, default=str))
    return key[0] if key else ""


def mask_keys(text: str) -> str:
    """Return a text with its keys shortened, so that they can be recognised but not used."""
    return KEY.sub(lambda key: f"{key[0][:SHOWN_CHARS]}…", text)


def _configuration_of_person(program: AgentProgram, config: ServerConfig, machine: Machine) -> list[ClientFile]:
    return [_configuration(program.configuration(machine), program.settings, config)] if program.configuration else []


def _instructions_of_person(program: AgentProgram, machine: Machine, *, has_hooks: bool) -> list[ClientFile]:
    told = program.instructions
    return [_instructions(told.place(machine), told.heading, has_hooks=has_hooks)] if told else []


def _configuration(path: Path, settings: Settings, config: ServerConfig) -> ClientFile:
    form = _format_of(path)
    wanted = settings(config)

    def write(text: str) -> str:
        return reduce(form.with_setting, wanted, text)

    def remove(text: str, before: str) -> str:
        def without(text: str, setting: Setting) -> str:
            return form.without_setting(text, setting, before=before)

        return reduce(without, wanted, text)

    says_key = config.key in json.dumps([setting.value for setting in wanted])
    return ClientFile(path, "configuration", write, remove, holds_key=says_key)


def _hooks(client: ClientHooks, connection: HookConnection, path: Path) -> ClientFile:
    wanted = dict(client.entries(connection))

    def write(text: str) -> str:
        text = text if text.strip() or not wanted else client.empty
        for event in client.events:
            place, is_one = ("hooks", event.name), is_for_acts if event.kind == "act" else is_for_conversation
            if event in wanted:
                text = json_text.with_item(text, place, wanted[event], is_one)
            else:
                text = json_text.without_items(text, place, is_one)
        return text

    def remove(text: str, before: str) -> str:
        for event in client.events:
            text = json_text.without_items(text, ("hooks", event.name), is_ours, before=before)
        return "" if not before and text.split() == client.empty.split() else text

    says_key = bool(connection.key) and connection.key in json.dumps(list(wanted.values()))
    return ClientFile(path, "hooks", write, remove, holds_key=says_key)


def _plugin(client: ClientHooks, connection: HookConnection, path: Path) -> ClientFile:
    """The file is ours alone; one of someone else in its place comes back."""

    def write(_: str) -> str:
        return plugin_of(client.slug, connection) if connection.kinds else ""

    def remove(text: str, before: str) -> str:
        theirs = "" if PROGRAM_FILE in before else before
        return theirs if PROGRAM_FILE in text else text

    return ClientFile(path, "hooks", write, remove)


def _command_in(script: str) -> list[str]:
    """Return the command that a plugin of ours runs, as a shell reads it; none where it is not ours."""
    line = next((line for line in script.splitlines() if line.startswith(COMMAND_IN_PLUGIN)), "")
    words = json.loads(line.partition(" = ")[2]) if PROGRAM_FILE in line else []
    return [shlex.join(words)] if words else []


def _both(part: ClientFile, hooks: ClientFile) -> ClientFile:
    return replace(
        part,
        write=lambda text: hooks.write(part.write(text)),
        remove=lambda text, before: part.remove(hooks.remove(text, before), before),
        holds_key=part.holds_key or hooks.holds_key,
    )


def _instructions(path: Path, heading: str, *, has_hooks: bool = False) -> ClientFile:
    def remove(text: str, _: str) -> str:
        return instruction_files.without_rules(text, heading=heading)

    write = partial(instruction_files.with_rules, heading=heading, has_hooks=has_hooks)
    return ClientFile(path, "instructions", write, remove)


def _format_of(path: Path) -> ConfigurationFormat:
    return toml_text if path.suffix == ".toml" else json_text
