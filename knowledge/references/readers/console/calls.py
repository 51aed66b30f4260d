"""Calls: what methods do to words, which functions to follow, and which requests are made."""

import re
from collections.abc import Callable, Sequence

from tree_sitter import Node

from knowledge.references.readers.console.evaluation import Evaluation
from knowledge.references.readers.console.expression_values import (
    UNKNOWN,
    AnyWord,
    Code,
    CommandPoint,
    CommandRecords,
    CommandTable,
    Dynamic,
    Env,
    Flag,
    Flags,
    LineWords,
    OneOfWays,
    SourceText,
    Value,
    WholeLine,
    Word,
)
from knowledge.references.readers.console.source import arguments_of, nodes_in, text_of, unwrap
from knowledge.references.readers.console.statements import is_option_parser
from knowledge.references.readers.console.tables import NAME_KEYS

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
_ASKS = re.compile(r"(api|fetch|http|request|axios|client|rest|^ky$|^got$)", re.I)
_PATH = re.compile(r"(https?://[^/\s]+|\{\w+\})?(?P<path>/[\w{][^\s?#]*)")

_SAME_WORD = {"toLowerCase", "toUpperCase", "trim", "toString", "valueOf", "normalize"}
_SAME_WORDS = {"filter", "map", "flat", "concat", "reverse", "values"}
_PARSER = re.compile(r"((parse|get|extract|read|split)\w*)?(args?|argv|arguments|flags?|options?|opts|params)", re.I)
_PARSERS = {"minimist", "yargs", "yargsParser", "mri", "getopts", "arg", "meow", "cac", "parser", "parse"}
_BLANK_SEPARATORS = re.compile(r"""^(['"`] ['"`]|/(\\s|\[\\s\]| )[+*]?/\w*)$""")
_FOLLOWED = WholeLine | LineWords | Word | Flags | Flag | OneOfWays


def request_of(
    call: Node, nodes: Sequence[Node], arguments: Sequence[Value], texts_of: Callable[[Value], tuple[str, ...]]
) -> str | None:
    """Return the request that a call makes, if it is one."""
    callee = call.child_by_field_name("function")
    name = text_of(callee) if callee is not None else ""
    if not _ASKS.search(name.split("(")[0]):
        return None
    texts = [value.text for value in arguments if isinstance(value, SourceText)]
    path = next((found["path"] for text in texts if (found := _PATH.match(text))), None)
    if path is None:
        return None
    return f"{_method(name, texts, nodes)} {path}"


def _method(name: str, texts: Sequence[str], nodes: Sequence[Node]) -> str:
    # Some clients call it `del`; the second replacement mends what was `delete` already.
    last = name.rpartition(".")[2].upper().replace("DEL", "DELETE").replace("DELETEETE", "DELETE")
    by_word = next((text.upper() for text in texts if text.upper() in _METHODS), "")
    in_options = next((found[1] for node in nodes if node.type == "object"
                       and (found := re.search(r"\bmethod:\s*['\"`](\w+)", text_of(node)))), "")  # fmt: skip
    return by_word or (last if last in _METHODS else "") or in_options.upper() or "GET"


class Calls(Evaluation):
    """Evaluates calls."""

    def _call_expression(self, node: Node, env: Env, place: CommandPoint) -> Value:
        callee = node.child_by_field_name("function")
        nodes = arguments_of(node)
        if callee is None:
            return UNKNOWN
        callee = unwrap(callee)
        if callee.type == "member_expression":
            owner, member = callee.child_by_field_name("object"), callee.child_by_field_name("property")
            if owner is not None and member is not None and owner.type != "this":
                on = self.evaluate(owner, env, place)
                found = self._method(on, text_of(member), node, owner, nodes, env, place)
                if found is not None:
                    return found
        arguments = [self._argument(each, env, place) for each in nodes]
        if (request := request_of(node, nodes, arguments, self.texts_of)) is not None:
            place.call(request)
            return UNKNOWN
        return self._call(self.evaluate(callee, env, place), callee, node, arguments, place)

    def _argument(self, node: Node, env: Env, place: CommandPoint) -> Value:
        if node.type == "spread_element":
            return self.evaluate(node.named_children[0], env, place)
        return self.evaluate(node, env, place)

    def _call(
        self, function: Value, callee: Node, node: Node, arguments: Sequence[Value], place: CommandPoint
    ) -> Value:
        name = text_of(callee).rpartition(".")[2]
        words = next((each for each in arguments if isinstance(each, LineWords)), None)
        if words is not None and self._parses_options(function, name):
            return Flags(words)
        if isinstance(function, Code):
            for each in arguments:
                self.say(each, place)
            if not arguments or any(isinstance(each, _FOLLOWED) for each in arguments):
                self.enter(function, arguments, place)
            return UNKNOWN
        if isinstance(function, OneOfWays):
            self.choose(function, arguments, place, node)
        elif isinstance(function, Dynamic):
            self.note_problem(
                function.node, f"Which commands `{text_of(function.node)[:60]}` answers cannot be seen from here."
            )
        for each in arguments:
            self.say(each, place)
            self.call_back(each, place)
        return UNKNOWN

    def _parses_options(self, function: Value, name: str) -> bool:
        if name in _PARSERS or name == "hideBin":
            return True
        if isinstance(function, Code):
            node = function.node
            if node.id not in self.parsers:
                self.parsers[node.id] = is_option_parser(node)
            return self.parsers[node.id]
        return function is UNKNOWN and bool(_PARSER.fullmatch(name))

    def report_hidden_commands(self, call: Node, env: Env, place: CommandPoint) -> None:
        """Report a call that hands the words to code of another file, whose commands nobody sees from here."""
        callee = call.child_by_field_name("function")
        if callee is None or self.evaluate(callee, env, place) is not UNKNOWN:
            return
        name = text_of(callee)
        if "." in name and name.split(".")[0] in ("console", "Object", "JSON", "Array", "window", "process"):
            return
        handed = [self.evaluate(each, env, CommandPoint(path=place.path)) for each in arguments_of(call)]
        ahead = [
            each
            for each in handed
            if isinstance(each, LineWords | WholeLine) and getattr(each, "start", 0) <= len(place.path)
        ]
        if ahead and not re.match(r"(set[A-Z]|add[A-Z]|push|log|print|write|show)", name.rpartition(".")[2]):
            typed = " ".join(place.path) or "the line"
            self.note_problem(call, f"`{name[:60]}` gets what follows `{typed}`, and is not in this file.")

    def call_back(self, value: Value, place: CommandPoint) -> None:
        """Go through a function that is handed over, as to `then`, `map` or `setTimeout`."""
        if isinstance(value, Code) and value.node.type != "method_definition":
            self.enter(value, (), place)

    def _method(
        self, on: Value, name: str, node: Node, owner: Node, nodes: Sequence[Node], env: Env, place: CommandPoint
    ) -> Value | None:
        """Return what a method of a known value gives; nothing when the call is like any other."""
        if isinstance(on, LineWords):
            return self._method_of_words(on, name, owner, nodes, env, place)
        if isinstance(on, WholeLine):
            return self._method_of_line(on, name, nodes)
        if isinstance(on, Word | Flag | AnyWord | SourceText):
            return self._method_of_word(on, name, nodes, env, place)
        if isinstance(on, CommandTable | OneOfWays) and name in ("get", "has") and nodes:
            return self.look_up(on, self.evaluate(nodes[0], env, place), node, place) if name == "get" else UNKNOWN
        if isinstance(on, CommandRecords) and name in ("find", "filter", "some") and nodes:
            return self._find_records(on, nodes[0], env, place)
        if on is UNKNOWN and name == "find" and nodes and self._word_sought(nodes[0], env, place) is not None:
            return Dynamic(node)
        if (
            name == "split"
            and not place.path
            and nodes
            and _BLANK_SEPARATORS.match(text_of(nodes[0]))
            and on is UNKNOWN
        ):
            return LineWords(0)
        if name in ("trim", "toLowerCase") and on is UNKNOWN:
            return UNKNOWN
        if text_of(owner) == "process.argv" and name == "slice":
            return LineWords(0)
        return None

    def _method_of_words(
        self, on: LineWords, name: str, owner: Node, nodes: Sequence[Node], env: Env, place: CommandPoint
    ) -> Value:
        given = [self.evaluate(each, env, place) for each in nodes]
        first = text_of(nodes[0]) if nodes else "0"
        if name in ("slice", "splice"):
            return on.behind(int(first)) if first.isdecimal() else on
        if name == "at":
            return self.word(on.at(int(first)), place) if first.isdecimal() else UNKNOWN
        if name == "shift":
            if owner.type == "identifier":
                env[text_of(owner)] = on.behind(1)
            return self.word(on.at(0), place)
        if name == "join":
            return self.word(on.at(0), place)
        for value in given:
            if isinstance(value, SourceText) and re.match(r"--?[A-Za-z]", value.text):
                place.option(value.text.split("=")[0])
            elif isinstance(value, Code):
                self.enter(value, (AnyWord(),), place)
        if name in ("find", "filter"):
            # What `filter(each => !each.startsWith("--"))` keeps are words of the line; without the `!`, its options.
            keeps_words = name == "filter" and "!" in text_of(nodes[0]) if nodes else False
            keeps_words = keeps_words or "--" not in text_of(nodes[0]) if nodes else True
            return on if name == "filter" and keeps_words else AnyWord()
        return on if name in _SAME_WORDS else UNKNOWN

    def _method_of_line(self, on: WholeLine, name: str, nodes: Sequence[Node]) -> Value:
        first = text_of(nodes[0]) if nodes else ""
        if name in ("split", "match"):
            is_cut = _BLANK_SEPARATORS.match(first) if name == "split" else "\\S" in first
            self.program = self.program or (on.program if is_cut else "")
            return LineWords(0) if is_cut else UNKNOWN
        if name == "replace" and (prefix := re.match(r"/\^([a-z][\w-]*)", first)):
            self.program = self.program or prefix[1]
        return on if name in (*_SAME_WORD, "replace", "slice", "substring", "substr") else UNKNOWN

    def _method_of_word(
        self, on: Value, name: str, nodes: Sequence[Node], env: Env, place: CommandPoint
    ) -> Value | None:
        given = [self.evaluate(each, env, place) for each in nodes]
        if isinstance(on, AnyWord) and name in ("startsWith", "includes"):
            for value in given:
                if isinstance(value, SourceText) and re.match(r"--?[A-Za-z]", value.text):
                    is_switch = "=" not in value.text
                    place.option(value.text.split("=")[0], value="" if is_switch else "<value>")
        if name in _SAME_WORD:
            return on
        if isinstance(on, AnyWord) and name in ("replace", "slice", "split", "substring"):
            return on
        return UNKNOWN

    def _find_records(self, records: CommandRecords, predicate: Node, env: Env, place: CommandPoint) -> Value:
        """Return which records a predicate lets through: those whose name is a word of the line."""
        position = self._word_sought(predicate, env, place)
        return UNKNOWN if position is None else self.records_by(records, position, place)

    def _word_sought(self, predicate: Node, env: Env, place: CommandPoint) -> int | None:
        """Return the position of the word that a predicate compares names with; none where it compares no names."""
        names = set(re.findall(r"\.(\w+)\s*={2,3}|={2,3}\s*\w+\.(\w+)", text_of(predicate)))
        used = {name for pair in names for name in pair if name}
        words = [value for value in self._values_in(predicate, env, place) if isinstance(value, Word | WholeLine)]
        if not words or not used & set(NAME_KEYS):
            return None
        position = words[0].position if isinstance(words[0], Word) else 0
        return position if position >= len(place.path) else None

    def _values_in(self, node: Node, env: Env, place: CommandPoint) -> list[Value]:
        found = []
        for each in nodes_in(node):
            if each.type == "identifier" and text_of(each) in env:
                found.append(env[text_of(each)])
            elif each.type == "subscript_expression":
                found.append(self.evaluate(each, env, place))
        return found
