"""Commands that a source declares with commander, cac or yargs: read, not followed (decision 42).

The calls of these libraries name everything: `program.command("serve <dir>").option("-p, --port <n>")`. They are gone
through in the order of the file, with what variables and parameters stand for; what is declared elsewhere is reported.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tree_sitter import Node

from knowledge.argument_types import Completeness
from knowledge.references.readers.commands import FoundCommand
from knowledge.references.readers.console.source import (
    FUNCTIONS,
    ParsedFile,
    arguments_of,
    module_of_require,
    parameters_of,
    pattern_of,
    properties_of,
    string_of,
    text_of,
    unwrap,
)
from knowledge.references.readers.help.usage import option_of, read_usage
from knowledge.references.readers.reference_drafts import Option, ReaderProblem

_LIBRARIES = {"commander": "commander", "@commander-js/extra-typings": "commander", "yargs": "yargs",
              "yargs/yargs": "yargs", "yargs/yargs.js": "yargs", "cac": "cac"}  # fmt: skip
# What a library exports that is the program itself, and what makes a command.
_PROGRAMS = ("default", "*", "program", "yargs")
_MAKERS = ("Command", "CAC", "createCommand")
_OCLIF = ("@oclif/core", "@oclif/command")
DEEPEST_CALLS = 20


@dataclass
class DeclaredCommand:
    """A command as the calls make it."""

    name: str = ""
    node: Node | None = None
    parent: "DeclaredCommand | None" = None
    aliases: list[str] = field(default_factory=list)
    description: str = ""
    options: dict[str, Option] = field(default_factory=dict)
    arguments: dict[str, Option] = field(default_factory=dict)
    children: dict[str, "DeclaredCommand"] = field(default_factory=dict)
    acts: bool = False
    takes_any: bool = False
    runs: bool = False

    def below(self, spec: str, node: Node) -> "DeclaredCommand":
        """Return the command that `serve|s <dir> [port]` declares here."""
        line = read_usage(spec)
        name, *others = line.text.split()[0].split("|") if line.text else [""]
        child = self.children.setdefault(name, DeclaredCommand(name, node, self))
        child.aliases += others
        arguments = read_usage(f"x {' '.join(line.text.split()[1:])}").arguments
        child.arguments |= {each.name: each for each in arguments}
        return child


class Declarations:
    """Goes through the calls of a file."""

    def __init__(self, source: ParsedFile) -> None:
        self.source = source
        self.root = DeclaredCommand()
        self.problems: dict[ReaderProblem, None] = {}
        self.bound: dict[str, DeclaredCommand | None] = {}
        self.made: list[DeclaredCommand] = []
        self.seen: dict[int, DeclaredCommand | None] = {}
        self.entered: set[int] = set()
        self.returned: DeclaredCommand | None = None
        self.uncalled: list[Node] = []
        self.depth = 0
        self.uses_oclif = not source.modules.isdisjoint(_OCLIF)
        self.library = next((_LIBRARIES[name] for name in sorted(source.modules) if name in _LIBRARIES), "")

    def read(self) -> bool:
        """Read the declarations of a file; return whether there are any."""
        if self.library:
            self._walk(self.source.root)
            # A function that is handed a command may be called by one that is handed none.
            for function in sorted(self.uncalled, key=lambda each: any(self._commands_for(each))):
                self._walk_uncalled(function)
            self._attach_the_rest()
        return bool(self.root.children or self.root.options)

    def _walk(self, node: Node) -> None:
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.type == "variable_declarator":
                self._declare(each)
            elif each.type in ("call_expression", "new_expression"):
                self._value(each)
            elif each.type == "return_statement" and each.named_children:
                self.returned = self._value(each.named_children[0])
            if each.type in FUNCTIONS and parameters_of(each):
                # A call may tell what its parameters stand for.
                self.uncalled.append(each)
            else:
                waiting.extend(reversed(each.named_children))

    def _walk_function(self, function: Node, given: Sequence[DeclaredCommand | None]) -> DeclaredCommand | None:
        """Go through a function with what its parameters stand for, and return the command that it gives back."""
        if function.id in self.entered or self.depth >= DEEPEST_CALLS:
            return None
        self.entered.add(function.id)
        before, self.depth = dict(self.bound), self.depth + 1
        for number, parameter in enumerate(parameters_of(function)):
            # None hides what the name stands for outside.
            self.bound[text_of(pattern_of(parameter))] = given[number] if number < len(given) else None
        body, self.returned = function.child_by_field_name("body"), None
        if body is not None:
            self._walk(body)
        found = self._value(body) if body is not None and body.type != "statement_block" else self.returned
        self.bound, self.depth, self.returned = before, self.depth - 1, None
        return found

    def _walk_uncalled(self, function: Node) -> None:
        """Go through a function that other files call: what its commands belong to is known there."""
        if function.id in self.entered:
            return
        given = self._commands_for(function)
        if any(given):
            self._tell(function, "What is declared here belongs to a command that another file hands in.")
        self._walk_function(function, given)

    def _commands_for(self, function: Node) -> list[DeclaredCommand | None]:
        body = text_of(function)
        return [self.root if self._is_command(each, body) else None for each in parameters_of(function)]

    def _is_command(self, parameter: Node, body: str) -> bool:
        """Whether a parameter is a command, by its type, or because commands are declared on it."""
        annotation = parameter.child_by_field_name("type")
        of_type = text_of(annotation).lstrip(": ").partition("<")[0] if annotation is not None else ""
        if self.source.imports.get(of_type.partition(".")[0], ("", ""))[0] in _LIBRARIES:
            return True
        return (
            not of_type and re.search(rf"\b{re.escape(text_of(pattern_of(parameter)))}\s*\.command\(", body) is not None
        )

    def _declare(self, declarator: Node) -> None:
        name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
        found = self._value(value) if value is not None else None
        if name is not None and name.type == "identifier" and found is not None:
            self.bound[text_of(name)] = found

    def _value(self, node: Node) -> DeclaredCommand | None:
        """Return the command that an expression stands for."""
        node = unwrap(node)
        if node.type == "identifier":
            return self.bound[text_of(node)] if text_of(node) in self.bound else self._program_of_import(node)
        if node.type == "member_expression":
            # As TypeScript compiles an import: `commander_1.default.command(…)`.
            return self._program_of_import(node)
        if node.type in ("call_expression", "new_expression"):
            # From the inside out: a chain of calls may be longer than Python nests.
            for call in reversed(self._chain(node)):
                self.seen[call.id] = None
                self.seen[call.id] = self._call(call)
            return self.seen[node.id]
        return None

    def _chain(self, node: Node) -> list[Node]:
        calls = []
        while node.type in ("call_expression", "new_expression") and node.id not in self.seen:
            calls.append(node)
            callee = node.child_by_field_name("function")
            owner = callee.child_by_field_name("object") if callee is not None else None
            if owner is None:
                break
            node = unwrap(owner)
        return calls

    def _library_name(self, node: Node) -> str:
        """Return what a name or a member of a module is called in the library that it comes from."""
        member = node.child_by_field_name("property") if node.type == "member_expression" else None
        owner = node.child_by_field_name("object") if member is not None else node
        if owner is None or owner.type != "identifier":
            return ""
        module, exported = self.source.imports.get(text_of(owner), ("", ""))
        if module not in _LIBRARIES:
            return ""
        return text_of(member) if member is not None else exported

    def _program_of_import(self, node: Node) -> DeclaredCommand | None:
        """Return the program, if a name is bound to what a library calls so."""
        return self.root if self._library_name(node) in _PROGRAMS else None

    def _call(self, node: Node) -> DeclaredCommand | None:
        callee = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        arguments = arguments_of(node)
        if callee is None:
            return None
        exported = self._library_name(callee)
        if exported in _MAKERS:
            made = DeclaredCommand(_text(arguments[0]) if arguments else "", node)
            self.made.append(made)
            return made
        if module_of_require(node) in _LIBRARIES:
            return self.root
        if exported in _PROGRAMS or exported == "cac" or (callee.type == "call_expression" and self._value(callee)):
            if self.library == "cac" and arguments:
                self.root.name = self.root.name or _text(arguments[0])
            return self.root
        if callee.type == "member_expression" and node.type == "call_expression":
            owner, member = callee.child_by_field_name("object"), callee.child_by_field_name("property")
            command = self._value(owner) if owner is not None else None
            if command is None or member is None:
                return None
            return self._apply(command, text_of(member), arguments, node)
        name = text_of(callee)
        declared = self.source.lookup(name, node)
        given = [self._value(each) for each in arguments]
        if declared is not None and declared.value.type in FUNCTIONS and (any(given) or not given):
            return self._walk_function(declared.value, given)
        return None

    def _apply(
        self, command: DeclaredCommand, method: str, arguments: Sequence[Node], node: Node
    ) -> DeclaredCommand | None:
        first = _text(arguments[0]) if arguments else ""
        second = _text(arguments[1]) if len(arguments) > 1 else ""
        if method == "command" and arguments:
            return self._declare_command(command, arguments, node)
        if method == "addCommand" and arguments:
            self._attach(command, arguments[0])
        elif method in ("name", "scriptName"):
            command.name = first or command.name
        elif method in ("alias", "aliases"):
            command.aliases += [first] if first else _texts(arguments[0]) if arguments else []
        elif method in ("description", "describe", "summary"):
            command.description = command.description or first
        elif method in ("argument", "arguments"):
            found = read_usage(f"x {first}").arguments
            command.arguments |= {each.name: each.model_copy(update={"description": second}) for each in found}
        elif method in ("option", "requiredOption", "positional", "options"):
            self._declare_options(command, method, arguments)
        elif method in ("action", "executableDir"):
            command.acts = True
        elif method in ("allowUnknownOption", "allowExcessArguments"):
            command.takes_any = True
        elif method in ("parse", "parseAsync"):
            command.runs = True
        elif method == "version" and self.library != "yargs":
            for option in filter(None, [option_of(second or "-V, --version", "")]):
                command.options[option.name] = option
        elif method == "commandDir":
            self._tell(node, f"The commands of the folder {first or 'named here'} are written elsewhere.")
        return command

    def _declare_command(
        self, command: DeclaredCommand, arguments: Sequence[Node], node: Node
    ) -> DeclaredCommand | None:
        given = self._object(arguments[0])
        if given is not None:
            fields = {text_of(key).strip("'\""): value for key, value, _ in properties_of(given)}
            arguments = [fields[name] for name in ("command", "describe", "builder") if name in fields]
            aliases = _texts(fields["aliases"]) if "aliases" in fields else []
        else:
            aliases = []
        specs = _texts(arguments[0]) if arguments else []
        if not specs:
            self._tell(node, f"What `{_short(arguments[0] if arguments else node)}` declares is written elsewhere.")
            return None if self.library != "yargs" else command
        is_default = specs[0].split()[:1] in (["$0"], ["*"])
        child = command.below(specs[0], node) if not is_default else command
        child.aliases += [*(spec.split()[0] for spec in specs[1:] if spec), *aliases]
        child.acts = True
        child.description = child.description or (_text(arguments[1]) if len(arguments) > 1 else "")
        if self.library == "yargs":
            for builder in map(unwrap, arguments[2:3]):
                self._build(child, builder)
            return command
        # commander: with a description it is another program's, and the call gives back the parent.
        return command if self.library == "commander" and len(arguments) > 1 and _text(arguments[1]) else child

    def _build(self, child: DeclaredCommand, builder: Node) -> None:
        if builder.type == "identifier" and (declared := self.source.lookup(text_of(builder), builder)) is not None:
            builder = declared.value
        if builder.type in FUNCTIONS:
            self._walk_function(builder, [child])
        elif builder.type == "object":
            self._take_options(child, builder)
        else:
            self._tell(builder, f"The options of `{child.name}` are written elsewhere: `{_short(builder)}`.")
            child.takes_any = True

    def _declare_options(self, command: DeclaredCommand, method: str, arguments: Sequence[Node]) -> None:
        if not arguments:
            return
        first = unwrap(arguments[0])
        if first.type == "object":
            self._take_options(command, first)
            return
        text = _text(first)
        about = self._object(arguments[1]) if len(arguments) > 1 else None
        if not text:
            command.takes_any = True
        elif about is not None or self.library == "yargs":
            self._take_option(command, text, about, is_positional=method == "positional")
        elif (option := option_of(text, _text(arguments[1]) if len(arguments) > 1 else "")) is not None:
            command.options[option.name] = option.model_copy(update={"required": method == "requiredOption"})

    def _take_options(self, command: DeclaredCommand, table: Node) -> None:
        for key, value, _ in properties_of(table):
            self._take_option(command, text_of(key).strip("'\""), value if value.type == "object" else None)

    def _take_option(
        self, command: DeclaredCommand, name: str, about: Node | None, *, is_positional: bool = False
    ) -> None:
        """Take an option as yargs writes it: a name, and an object about it."""
        fields = {text_of(key).strip("'\""): value for key, value, _ in properties_of(about)} if about else {}
        kind = _text(fields["type"]) if "type" in fields else ""
        described = next((_text(fields[key]) for key in ("describe", "description", "desc") if key in fields), "")
        required = any(
            text_of(fields[key]) == "true" for key in ("demandOption", "required", "demand") if key in fields
        )
        choices = tuple(_texts(fields["choices"])) if "choices" in fields else ()
        if is_positional:
            known = next((each for each in command.arguments if each.strip("<>[].") == name), "")
            if known:
                update = {"description": described, "values": choices}
                command.arguments[known] = command.arguments[known].model_copy(update=update)
            return
        spelled = [name, *(_texts(fields["alias"]) if "alias" in fields else [])]
        dashed = sorted((f"--{each}" if len(each) > 1 else f"-{each}" for each in spelled), key=len, reverse=True)
        is_switch = kind in ("boolean", "count") or "boolean" in fields
        command.options[dashed[0]] = Option(
            name=dashed[0],
            short=next((each for each in dashed[1:] if len(each) == 2), ""),
            others=tuple(each for each in dashed[1:] if len(each) > 2) + ((f"--no-{name}",) if is_switch else ()),
            value="" if is_switch else f"<{kind or 'value'}>" if kind else "[value]",
            values=choices,
            description=described,
            required=required,
        )

    def _object(self, node: Node) -> Node | None:
        node = unwrap(node)
        if node.type == "identifier" and (declared := self.source.lookup(text_of(node), node)) is not None:
            node = unwrap(declared.value)
        return node if node.type == "object" else None

    def _attach(self, command: DeclaredCommand, given: Node) -> None:
        child = self._value(given)
        if child is None:
            self._tell(given, f"What `{_short(given)}` declares is written elsewhere.")
        else:
            child.parent = command
            child.node = child.node or given
            command.children[child.name] = child

    def _attach_the_rest(self) -> None:
        """Take the command that is run for the program, else the first that is no other one's; others are reported."""
        alone = sorted((each for each in self.made if each.parent is None), key=lambda each: not each.runs)
        for made in alone[1:]:
            if made.node is not None:
                self._tell(made.node, f"Where `{made.name}` belongs is written elsewhere.")
        for made in alone[:1]:
            self.root.name = self.root.name or made.name
            self.root.children |= made.children
            self.root.options |= made.options
            self.root.arguments |= made.arguments
            self.root.acts = self.root.acts or made.acts
            self.root.description = self.root.description or made.description

    def _tell(self, node: Node, says: str) -> None:
        self.problems.setdefault(ReaderProblem(where=self.source.place(node), says=says))

    def commands(self, program: str) -> Iterator[FoundCommand]:
        """Return the commands, the program first."""
        yield from self._list(self.root, (program,) if program else (), Completeness.COMPLETE)

    def _list(self, command: DeclaredCommand, words: tuple[str, ...], above: Completeness) -> Iterator[FoundCommand]:
        holds = bool(command.children)
        is_open = command.takes_any or self.library == "yargs"
        listed = Completeness.PARTIAL if self.problems else Completeness.COMPLETE
        arguments = tuple(command.arguments.values())
        shown = [each.name if each.required else f"[{each.name}]" for each in arguments]
        if words:
            yield FoundCommand(
                words,
                summary=command.description,
                description=command.description,
                syntax=" ".join((*words, *(["[options]"] if command.options else []), *shown)) if not holds
                else " ".join((*words, "<command>")),
                options=tuple(command.options.values()),
                arguments=arguments,
                aliases=tuple(" ".join((*words[:-1], alias)) for alias in dict.fromkeys(command.aliases)),
                source=self.source.place(command.node) if command.node is not None else self.source.name,
                is_group=holds and not command.arguments and not (command.acts and command is self.root),
                holds_commands=holds and bool(command.arguments or command.acts),
                completeness=listed if holds else Completeness.PARTIAL if is_open else Completeness.COMPLETE,
            )  # fmt: skip
        for child in command.children.values():
            yield from self._list(child, (*words, child.name), listed)


def _text(node: Node) -> str:
    node = unwrap(node)
    return string_of(node) if node.type in ("string", "template_string") and "${" not in text_of(node) else ""


def _texts(node: Node) -> list[str]:
    node = unwrap(node)
    if node.type == "array":
        return [text for each in node.named_children if (text := _text(each))]
    return [text for text in [_text(node)] if text]


def _short(node: Node) -> str:
    return " ".join(text_of(node).split())[:60]
