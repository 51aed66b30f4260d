"""Commands of Python programs: click groups and argparse parsers, walked as objects, and Django's management commands.

The module named is imported, which runs its code: only an operator names one, on the command line.
"""

import argparse
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any

from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from bigmind.core.errors import Invalid
from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.references.readers.commands import DocumentedProgram, FoundCommand, drafts_of, first_sentence
from knowledge.references.readers.program_names import require_name, script_of
from knowledge.references.readers.reference_drafts import Example, Generated, Option, ReaderProblem
from knowledge.references.readers.registry import Source

DEEPEST = 12
OF_EVERY_COMMAND = (
    *("--settings", "--pythonpath", "--traceback", "--no-color", "--force-color", "--skip-checks", "--version"),
)
"""The options that every management command of Django has."""


def import_object(path: str) -> Any:
    """Return what `package.module:name` names, after importing the module."""
    module, _, name = path.partition(":")
    hint = "Name it as `package.module:name`, or read the installed program by its own help: --kind help."
    if not module or not name:
        raise Invalid(f"`{path}` does not name an object.", hint=hint)
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise Invalid(f"`{module}` cannot be imported: {type(error).__name__}: {error}.", hint=hint) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise Invalid(f"`{module}` has no `{name}`.", hint=hint)
        found = getattr(found, part)
    return found


def generate_click(source: Source) -> Generated:
    """Make the references of a click command, named as `package.module:name`."""
    program = source.program or script_of(source.given)
    return generate_from_click(import_object(source.given), source=source.given, program=program)


def generate_argparse(source: Source) -> Generated:
    """Make the references of an argparse parser, named as `package.module:name`."""
    program = source.program or script_of(source.given)
    return generate_from_argparse(import_object(source.given), source=source.given, program=program)


def generate_from_click(command: Any, *, source: str = "", program: str = "") -> Generated:
    """Walk a click command, or a Typer app, and return what it and its subcommands take.

    Raises:
        Invalid: it is neither, or nothing says what people type for it: its function's name does not.
    """
    if type(command).__name__ == "Typer" and (typer := sys.modules.get("typer.main")) is not None:
        program = program or (command.info.name if isinstance(command.info.name, str) else "")
        command = typer.get_command(command)
    # Typer brings a click of its own, so no class says what a command is.
    if not hasattr(command, "context_class"):
        raise Invalid("That is no click command.", hint="Name the decorated function: `package.cli:main`.")
    function = getattr(command.callback, "__name__", "").lower().replace("_", "-")
    given = command.name if command.name and not function.startswith(command.name) else ""
    program = require_name(program or given, source)
    problems: list[ReaderProblem] = []
    found = list(_click_tree(command.context_class(command, info_name=program), (program,), source, problems))
    return Generated(
        drafts=drafts_of(found, DocumentedProgram(program)),
        problems=tuple(problems),
        completeness=_whole(problems),
    )


def generate_from_argparse(parser: Any, *, source: str = "", program: str = "") -> Generated:
    """Walk an argparse parser, or what a function without arguments returns, and return what it takes.

    Raises:
        Invalid: it is none, or nothing says what people type for it: a parser without `prog` has the name of the
            program that runs.
    """
    if callable(parser) and not isinstance(parser, argparse.ArgumentParser):
        try:
            parser = parser()
        except Exception as error:
            raise Invalid(f"That function failed: {type(error).__name__}: {error}.") from error
    if not isinstance(parser, argparse.ArgumentParser):
        raise Invalid("That is no argparse parser.", hint="Name a parser, or a function that returns one.")
    given = parser.prog.split()[0] if parser.prog != argparse.ArgumentParser().prog else ""
    program = require_name(program or given, source)
    found = list(_argparse_tree(parser, (program,), "", source, ()))
    return Generated(drafts=drafts_of(found, DocumentedProgram(program)), completeness=_whole([]))


def generate_from_django(
    program: str = "manage.py", *, apps: Sequence[str] | None = None, version: str = ""
) -> Generated:
    """Return the management commands of this Django project.

    Args:
        apps: Only the commands that these apps bring; those of all when left out.
    """
    problems: list[ReaderProblem] = []
    found: list[FoundCommand] = []
    for name, app in sorted(get_commands().items()):
        app_name = app if isinstance(app, str) else app.__module__.partition(".management")[0]
        if apps is not None and app_name not in apps:
            continue
        try:
            command = app if isinstance(app, BaseCommand) else load_command_class(app, name)
            parser = command.create_parser(program, name)
        except Exception as error:  # noqa: BLE001 - a command may fail to load in any way; the others stand
            problems.append(ReaderProblem(where=f"{program} {name}", says=f"Cannot be loaded: {error}."))
            continue
        words = (program, name)
        found += _argparse_tree(parser, words, command.help or "", type(command).__module__, OF_EVERY_COMMAND)
    state = _whole(problems)[ReferenceKind.COMMAND]
    group = FoundCommand((program,), syntax=f"{program} <command>", source=program, is_group=True, completeness=state)
    drafts = drafts_of([group, *found] if found else [], DocumentedProgram(program, version))
    return Generated(drafts=drafts, problems=tuple(problems), completeness=_whole(problems))


def _whole(problems: Sequence[ReaderProblem]) -> dict[ReferenceKind, Completeness]:
    return {ReferenceKind.COMMAND: Completeness.PARTIAL if problems else Completeness.COMPLETE}


def _click_tree(
    context: Any, words: tuple[str, ...], source: str, problems: list[ReaderProblem]
) -> Iterator[FoundCommand]:
    command = context.command
    if command.hidden:
        return
    members = _click_members(context, problems)
    description = inspect.cleandoc(command.help or "").partition("\f")[0].strip()
    options = [_click_option(each) for each in command.params if each.param_type_name == "option" and not each.hidden]
    yield FoundCommand(
        words,
        summary=command.short_help or first_sentence(description),
        description=description,
        syntax=" ".join((*words, *command.collect_usage_pieces(context))),
        options=tuple(options),
        arguments=tuple(_click_argument(each) for each in command.params if each.param_type_name == "argument"),
        notes=("**Deprecated.**",) if command.deprecated else (),
        source=source,
        is_group=bool(members),
        completeness=Completeness.PARTIAL if context.ignore_unknown_options else Completeness.COMPLETE,
    )
    if len(words) > DEEPEST:
        problems.append(ReaderProblem(where=" ".join(words), says="Commands this deep are not read."))
        return
    for name, member in members.items():
        below = member.context_class(member, info_name=name, parent=context)
        yield from _click_tree(below, (*words, name), source, problems)


def _click_members(context: Any, problems: list[ReaderProblem]) -> dict[str, Any]:
    group = context.command
    if not hasattr(group, "list_commands"):
        return {}
    members = {}
    for name in group.list_commands(context):
        try:
            member = group.get_command(context, name)
        except Exception as error:  # noqa: BLE001 - groups load members lazily, from anywhere
            problems.append(ReaderProblem(where=f"{context.command_path} {name}", says=f"Cannot be loaded: {error}."))
            continue
        if member is not None and not member.hidden:
            members[name] = member
    return members


def _click_option(option: Any) -> Option:
    forms = sorted([*option.opts, *option.secondary_opts], key=len)
    name = max(option.opts, key=len)
    is_switch = option.is_flag or option.count
    return Option(
        name=name,
        short=next((form for form in forms if form != name and len(form) == 2), ""),
        value="" if is_switch else (option.metavar or option.type.name.upper()),
        values=_click_choices(option.type),
        description=option.help or "",
        required=option.required,
        default="" if is_switch else _plain_default(option.default),
    )


def _click_argument(argument: Any) -> Option:
    name = argument.metavar or (argument.name or "").upper()
    many = "..." if argument.nargs != 1 else ""
    return Option(name=f"{name}{many}", values=_click_choices(argument.type), required=argument.required)


def _click_choices(kind: Any) -> tuple[str, ...]:
    """Return the values that a choice takes; none where it takes others as well, as celery's log levels do."""
    if not hasattr(kind, "choices") or not type(kind).convert.__qualname__.endswith("Choice.convert"):
        return ()
    return tuple(str(choice.value if isinstance(choice, Enum) else choice) for choice in kind.choices)


def _argparse_tree(
    parser: argparse.ArgumentParser, words: tuple[str, ...], summary: str, source: str, noise: Sequence[str]
) -> Iterator[FoundCommand]:
    # argparse has no public way to list what a parser takes.
    actions = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    members = [action for action in actions if isinstance(action, argparse._SubParsersAction)]
    description = (parser.description or "").strip()
    yield FoundCommand(
        words,
        summary=first_sentence(summary or description),
        description=description or summary,
        syntax=_argparse_syntax(parser, words, noise),
        options=tuple(
            _argparse_option(action, parser)
            for action in actions
            if action.option_strings and not set(action.option_strings) & set(noise)
        ),
        arguments=tuple(
            _argparse_argument(action, parser)
            for action in actions
            if not action.option_strings and action not in members
        ),
        examples=tuple(_examples_in(parser.epilog or "", words[0])),
        source=source,
        is_group=bool(members),
        completeness=Completeness.COMPLETE if len(words) <= DEEPEST else Completeness.PARTIAL,
    )
    if len(words) <= DEEPEST:
        for name, aliases, help_text, below in (each for action in members for each in _argparse_members(action)):
            # The other names are of the subcommand itself, and not of what is below it.
            for found in _argparse_tree(below, (*words, name), help_text, source, noise):
                yield found if not aliases or found.words[:-1] != words else _with_aliases(found, aliases)


def _with_aliases(command: FoundCommand, aliases: Sequence[str]) -> FoundCommand:
    return replace(command, aliases=tuple(" ".join((*command.words[:-1], alias)) for alias in aliases))


def _argparse_members(
    action: "argparse._SubParsersAction[Any]",
) -> Iterator[tuple[str, list[str], str, argparse.ArgumentParser]]:
    """Return the subcommands of a parser, each with its other names: argparse keeps one entry for every name."""
    description = {choice.dest: choice.help or "" for choice in action._choices_actions}
    names: dict[int, list[str]] = {}
    parsers: Mapping[str, argparse.ArgumentParser] = action.choices
    for name, below in parsers.items():
        names.setdefault(id(below), []).append(name)
    for first, *aliases in names.values():
        if description.get(first) != argparse.SUPPRESS:
            yield first, aliases, description.get(first, ""), parsers[first]


def _argparse_syntax(parser: argparse.ArgumentParser, words: Sequence[str], noise: Sequence[str]) -> str:
    shown = [action for action in parser._actions if not set(action.option_strings) & set(noise)]
    formatter = argparse.HelpFormatter(prog=" ".join(words), width=10_000)
    formatter.add_usage(parser.usage, shown, parser._mutually_exclusive_groups, prefix="")
    return " ".join(formatter.format_help().split())


def _argparse_option(action: argparse.Action, parser: argparse.ArgumentParser) -> Option:
    name = max(action.option_strings, key=len)
    is_switch = action.nargs == 0
    return Option(
        name=name,
        short=next((form for form in action.option_strings if form != name and len(form) == 2), ""),
        value="" if is_switch else _metavar(action),
        values=tuple(str(choice) for choice in action.choices or ()),
        description=_help_of(action, parser),
        required=action.required,
        default="" if is_switch else _plain_default(action.default),
    )


def _argparse_argument(action: argparse.Action, parser: argparse.ArgumentParser) -> Option:
    many = "..." if action.nargs in ("*", "+", argparse.REMAINDER) else ""
    return Option(
        name=f"{_metavar(action)}{many}",
        values=tuple(str(choice) for choice in action.choices or ()),
        description=_help_of(action, parser),
        # argparse calls `nargs="*"` required, and takes nothing all the same.
        required=action.required and action.nargs not in ("*", "?"),
        default=_plain_default(action.default),
    )


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, tuple):
        return " ".join(action.metavar)
    return action.metavar or (action.dest.upper() if action.option_strings else action.dest)


def _help_of(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    try:
        return " ".join(parser._get_formatter()._expand_help(action).split()) if action.help else ""
    except (KeyError, ValueError, TypeError):
        return " ".join((action.help or "").split())


def _plain_default(default: object) -> str:
    """Return a default worth telling: not a sentinel, not an object's address."""
    if isinstance(default, bool) or default == argparse.SUPPRESS:
        return ""
    return str(default) if isinstance(default, str | int | float) else ""


def _examples_in(epilog: str, program: str) -> Iterator[Example]:
    for line in epilog.splitlines():
        if line.strip().removeprefix("$ ").startswith(f"{program} "):
            yield Example(code=line.strip().removeprefix("$ "))
