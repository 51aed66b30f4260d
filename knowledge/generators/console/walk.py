"""The walk through a console's code: statement by statement, with what has been typed so far in mind."""

import re
import time
from collections.abc import Sequence

from tree_sitter import Node

from knowledge.generators.console.conditions import Asked, Conditions
from knowledge.generators.console.places import MOST_PLACES, Place
from knowledge.generators.console.source import (
    FUNCTIONS,
    comment_above,
    identifiers_in,
    plain_comment,
    text_of,
    unwrapped,
)
from knowledge.generators.console.values import (
    UNKNOWN,
    Choice,
    Code,
    Flag,
    Line,
    Table,
    Text,
    Value,
    Way,
    Word,
    Words,
)

MOST_STEPS = 300_000
SECONDS = 15.0
MOST_WORDS = 10
DEEPEST_CALLS = 40
DEEPEST_CODE = 120

_LEAVES = frozenset({"return_statement", "throw_statement", "break_statement", "continue_statement"})
Env = dict[str, Value]


class TooMuch(Exception):
    """The walk came to its limits."""


class Walk(Conditions):
    """Goes through functions from their entry, and notes at each place what is said and done there."""

    def enter(self, code: Code, arguments: Sequence[Value], place: Place) -> None:
        """Go through a function that is called with something of the line."""
        key = (code.node.id, tuple(arguments), place.path)
        if key in self.entered or len(self.stack) >= DEEPEST_CALLS:
            return
        self.stack.append(key)
        self.entered.add(key)
        if any(_of_the_line(argument) for argument in arguments):
            self.reached.add(code.node.id)
            doc = comment_above(code.statement) if self.source.root.id != code.node.id else ""
            place.doc = place.doc or doc
        try:
            env = dict(code.env)
            self._bind_parameters(code.node, arguments, env, place)
            body = code.node.child_by_field_name("body")
            if body is not None and body.type == "statement_block":
                self.run(body.named_children, env, place)
            elif body is not None:
                self.evaluate(body, env, place)
        finally:
            self.stack.pop()

    def run(self, statements: Sequence[Node], env: Env, place: Place) -> Place | None:
        """Go through statements; return where their end leads, or nothing when they never get there."""
        self.depth += 1
        try:
            if self.depth > DEEPEST_CODE:
                self.trouble(statements[0], "Code nested this deep is not followed.")
                return None
            here: Place | None = place
            for number, statement in enumerate(statements):
                if here is None:
                    return None
                here = self._step(statement, statements[number + 1 :], env, here)
            return here
        finally:
            self.depth -= 1

    def spend(self) -> None:
        """Count a step, and stop at the limits."""
        self.steps += 1
        if self.steps > MOST_STEPS or (self.steps % 256 == 0 and time.monotonic() > self.ends):
            raise TooMuch

    def _step(self, statement: Node, rest: Sequence[Node], env: Env, place: Place) -> Place | None:
        self.spend()
        kind = statement.type
        if kind == "if_statement":
            return self._if(statement, rest, env, place)
        if kind == "switch_statement":
            return self._switch(statement, env, place)
        if kind == "statement_block":
            return self.run(statement.named_children, env, place)
        if kind in ("lexical_declaration", "variable_declaration"):
            self._declare(statement, env, place)
        elif kind == "try_statement":
            return self._try(statement, env, place)
        elif kind in ("for_in_statement", "for_statement", "while_statement", "do_statement"):
            self._loop(statement, env, place)
        elif kind == "expression_statement" and self._drops_program(statement, env, place):
            return self._behind_program(statement, env, place)
        elif kind in _LEAVES or kind == "expression_statement":
            for child in statement.named_children:
                if child.type not in ("comment", "statement_identifier"):
                    self.state(child, env, place)
            return None if kind in _LEAVES else place
        return place

    def state(self, expression: Node, env: Env, place: Place) -> None:
        """Evaluate an expression whose value nobody uses: an unknown function that gets the words hides commands."""
        bare = unwrapped(expression)
        self.evaluate(bare, env, place)
        if bare.type == "call_expression":
            self.hidden_commands(bare, env, place)

    def _declare(self, statement: Node, env: Env, place: Place) -> None:
        for declarator in statement.named_children:
            name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
            if declarator.type == "variable_declarator" and name is not None and value is not None:
                self.bind(name, self.evaluate(value, env, place), env, place)

    def _try(self, statement: Node, env: Env, place: Place) -> Place | None:
        body = statement.child_by_field_name("body")
        here = self.run(body.named_children, env, place) if body is not None else place
        for name in ("handler", "finalizer"):
            clause = statement.child_by_field_name(name)
            block = clause.child_by_field_name("body") if clause is not None else None
            if block is not None:
                self.run(block.named_children, dict(env), place)
        return here

    def _loop(self, statement: Node, env: Env, place: Place) -> None:
        inner = dict(env)
        left, right = statement.child_by_field_name("left"), statement.child_by_field_name("right")
        if left is not None and right is not None:
            self.bind(left, self.item_of(self.evaluate(right, env, place)), inner, place)
        for child in statement.named_children:
            if child.type == "statement_block":
                self.run(child.named_children, inner, place)
            elif child.type.endswith("_statement"):
                self.run([child], inner, place)

    # --- the program's own name at the beginning of the line ---

    def _drops_program(self, statement: Node, env: Env, place: Place) -> bool:
        """Say whether a statement throws the first word away: `parts.shift()`."""
        call = statement.named_children[0] if statement.named_children else statement
        callee = call.child_by_field_name("function") if call.type == "call_expression" else None
        if callee is None or callee.type != "member_expression" or place.path[1:]:
            return False
        owner, member = callee.child_by_field_name("object"), callee.child_by_field_name("property")
        is_shift = member is not None and text_of(member) == "shift"
        return is_shift and owner is not None and self.evaluate(owner, env, place) == Words(0)

    def _behind_program(self, statement: Node, env: Env, place: Place) -> Place | None:
        call = statement.named_children[0]
        self.evaluate(call, env, place)
        if place.path:
            return place
        if not self.program:
            self.trouble(statement, "The first word is dropped, and nothing says which it is: name the program.")
            return None
        return place.beyond((self.program,), (self.program,), statement)

    # --- if and switch ---

    def _if(self, statement: Node, rest: Sequence[Node], env: Env, place: Place) -> Place | None:
        condition, yes = statement.child_by_field_name("condition"), statement.child_by_field_name("consequence")
        clause = statement.child_by_field_name("alternative")
        no = clause.named_children[-1] if clause is not None and clause.named_children else None
        if condition is None or yes is None:
            return place
        asked = self.asked(condition, env, place)
        if asked is None:
            return self._neutral(yes, no, env, place)
        if asked.known is not None:
            taken = yes if asked.known else no
            return self.run([taken], env, place) if taken is not None else place
        if asked.negated:
            return self._unless(asked, yes, no, rest, env, place, statement)
        self._when(asked, yes, env, place, statement)
        return self.run([no], env, place) if no is not None else place

    def _neutral(self, yes: Node, no: Node | None, env: Env, place: Place) -> Place | None:
        after = self.run([yes], env, place)
        other = self.run([no], env, place) if no is not None else place
        return other if after is None else after

    def _when(self, asked: Asked, yes: Node, env: Env, place: Place, statement: Node) -> None:
        """Follow what happens for certain words."""
        if asked.is_prefix or (asked.labels == (self.program,) and asked.position == 0):
            self.program = self.program or asked.labels[0]
        if not _acts(yes):
            return
        doc = self._doc_of_if(statement)
        for target in self.targets(asked, place, statement, _looks_again(statement, [yes])):
            target.doc = target.doc or doc
            self.run([yes], dict(env), target)

    def _unless(
        self, asked: Asked, yes: Node, no: Node | None, rest: Sequence[Node], env: Env, place: Place, statement: Node
    ) -> Place | None:
        """Follow what happens for all but certain words, and then for these."""
        after = self.run([yes], dict(env), place)
        behind = ([no] if no is not None else []) + (list(rest) if after is None else [])
        if not behind:
            return place
        for target in self.targets(asked, place, statement, separate=True):
            self.run(behind, dict(env), target)
        return None if after is None else place

    def targets(self, asked: Asked, place: Place, node: Node, separate: bool) -> list[Place]:
        """Return the places that the words of a condition lead to: one for all that mean the same."""
        if asked.position >= MOST_WORDS:
            self.trouble(node, f"Commands of more than {MOST_WORDS} words are not followed.")
            return []
        if asked.position < len(place.path):
            return [place] if place.path[asked.position] in asked.labels else []
        options = [label for label in asked.labels if label.startswith("-")]
        for label in options:
            place.option(label)
        labels = [label for label in asked.labels if label and not label.startswith("-")]
        groups = [(label,) for label in labels] if separate else [tuple(labels)] if labels else []
        found = [self._target(asked.position, group, place, node) for group in groups]
        if asked.then is None:
            return found
        return [deeper for each in found for deeper in self.targets(asked.then, each, node, separate)]

    def _target(self, position: int, labels: tuple[str, ...], place: Place, node: Node) -> Place:
        self.places += 1
        if self.places > MOST_PLACES:
            raise TooMuch
        between = tuple(f"<{place.bound.get(at, 'value').strip('[]')}>" for at in range(len(place.path), position))
        here = place.beyond(between, between[-1:], node) if between else place
        labels = tuple(dict.fromkeys([*labels, *(each for label in labels for each in self._named(position, label))]))
        words = tuple(labels[0].split())
        spellings = tuple(label for label in labels if len(label.split()) == 1) if len(words) == 1 else (words[-1],)
        target = here.beyond(words, spellings, node)
        for other in labels[1:] if len(words) > 1 else [label for label in labels if len(label.split()) > 1]:
            here.beyond(tuple(other.split()), (other.split()[-1],), node)
        return target

    def _named(self, position: int, label: str) -> list[str]:
        return self.other_names.get((position, label), [])

    def _switch(self, statement: Node, env: Env, place: Place) -> Place | None:
        value, body = statement.child_by_field_name("value"), statement.child_by_field_name("body")
        if value is None or body is None:
            return place
        on = self.evaluate(value, env, place)
        if isinstance(on, Line):
            on = Word(0)
        if isinstance(on, Word) and on.position < len(place.path):
            on = Text(place.path[on.position])
        cases = [each for each in body.named_children if each.type in ("switch_case", "switch_default")]
        if isinstance(on, Word):
            return self._ways(on, value, cases, env, place)
        if isinstance(on, Flag):
            labels = [self.label_of(case, env, place) for case in cases if case.type == "switch_case"]
            place.option(on.name, values=tuple(label for label in labels if label))
        for number, case in enumerate(cases):
            if self._is_taken(case, on, value, cases, env, place):
                self._case(cases, number, dict(env), place)
        return place

    def _is_taken(self, case: Node, on: Value, value: Node, cases: Sequence[Node], env: Env, place: Place) -> bool:
        if isinstance(on, Text):
            labels = {self.label_of(each, env, place) for each in cases if each.type == "switch_case"}
            return self.label_of(case, env, place) == on.text if on.text in labels else case.type == "switch_default"
        if text_of(unwrapped(value)) == "true" and case.type == "switch_case":
            condition = case.child_by_field_name("value")
            asked = self.asked(condition, env, place) if condition is not None else None
            if asked is not None and asked.known is None:
                again = condition is not None and _looks_again(condition, _body(cases, cases.index(case)))
                for target in self.targets(asked, place, case, again):
                    target.doc = target.doc or _doc_of_case(case)
                    self._case(cases, cases.index(case), dict(env), target)
                return False
        return True

    def _ways(self, on: Word, value: Node, cases: Sequence[Node], env: Env, place: Place) -> Place | None:
        """Follow every case of a switch on a word: labels above one body are spellings of one command."""
        labels: list[str] = []
        first: Node | None = None
        for number, case in enumerate(cases):
            if case.type == "switch_default":
                # Where a word falls through to the default, the default is that word.
                if not number or _statements(cases[number - 1]):
                    self._case(cases, number, dict(env), place)
                continue
            label = self.label_of(case, env, place)
            if label is None:
                self.trouble(case, "What this case stands for cannot be read.")
            else:
                labels.append(label)
            first = first or case
            if not _statements(case) and number + 1 < len(cases) and cases[number + 1].type == "switch_case":
                continue
            if labels:
                self._follow(on, value, labels, first, cases, number, env, place)
            labels, first = [], None
        return place

    def _follow(
        self, on: Word, value: Node, labels: Sequence[str], first: Node, cases: Sequence[Node], number: int, env: Env,
        place: Place,
    ) -> None:  # fmt: skip
        if on.default in labels:
            place.default = on.default
        separate = len(labels) > 1 and _mentions(_body(cases, number), unwrapped(value))
        for target in self.targets(Asked(on.position, tuple(labels)), place, first, separate):
            target.doc = target.doc or _doc_of_case(first) or _doc_of_case(cases[number])
            self._case(cases, number, dict(env), target)

    def _case(self, cases: Sequence[Node], number: int, env: Env, place: Place) -> None:
        self.run(_body(cases, number), env, place)

    def _doc_of_if(self, statement: Node) -> str:
        parent = statement.parent
        return comment_above(parent if parent is not None and parent.type == "else_clause" else statement)

    # --- tables of handlers ---

    def choose(self, choice: Choice, arguments: Sequence[Value], place: Place, node: Node) -> None:
        """Follow all ways of a table when what it gave is called."""
        for way in choice.ways:
            for target in self.targets(Asked(way.position, way.labels), place, way.entry, separate=False):
                target.doc = target.doc or comment_above(way.entry)
                self._take(way, arguments, target)

    def _take(self, way: Way, arguments: Sequence[Value], target: Place) -> None:
        value = way.value
        self.describe(way.entry, target)
        if isinstance(value, Code):
            self.enter(value, arguments, target)
        elif isinstance(value, Choice):
            self.choose(value, arguments, target, way.entry)
        elif not isinstance(value, Table):
            self.trouble(
                way.entry, f"What `{' '.join(target.path)}` does is written elsewhere: its name alone is known."
            )

    def _bind_parameters(self, function: Node, arguments: Sequence[Value], env: Env, place: Place) -> None:
        parameters = function.child_by_field_name("parameters")
        single = function.child_by_field_name("parameter")
        nodes = [single] if single is not None else parameters.named_children if parameters is not None else []
        patterns = [each for each in nodes if each is not None and each.type != "comment"]
        for number, parameter in enumerate(patterns):
            pattern = parameter.child_by_field_name("pattern") or parameter
            if pattern.type == "this":
                continue
            if pattern.type == "rest_pattern":
                self.bind(pattern.named_children[0], self.gathered(arguments[number:]), env, place)
            else:
                self.bind(pattern, arguments[number] if number < len(arguments) else UNKNOWN, env, place)


def _of_the_line(value: Value) -> bool:
    return isinstance(value, Line | Words | Word | Choice)


def _statements(case: Node) -> list[Node]:
    value = case.child_by_field_name("value")
    return [each for each in case.named_children if each.type != "comment" and (value is None or each.id != value.id)]


def _body(cases: Sequence[Node], number: int) -> list[Node]:
    """Return what runs from a case on: its statements, and those of the next cases until one leaves."""
    found: list[Node] = []
    for case in cases[number:]:
        found += _statements(case)
        if found and _leaves(found[-1]):
            break
    return found


def _leaves(statement: Node) -> bool:
    for _ in range(20):
        if statement.type != "statement_block" or not statement.named_children:
            break
        statement = statement.named_children[-1]
    return statement.type in _LEAVES


def _acts(node: Node) -> bool:
    """Say whether code does more than to set variables: only then is there a command."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type in ("call_expression", "new_expression", "switch_statement", "throw_statement"):
            callee = each.child_by_field_name("function")
            if callee is None or not re.search(r"\.(shift|slice|trim|split|replace|substring)$", text_of(callee)[-40:]):
                return True
        elif each.type == "return_statement" and each.named_children and each.named_children[0].type not in _PLAIN:
            return True
        elif each.type not in FUNCTIONS:
            waiting.extend(each.named_children)
            continue
        waiting.extend(each.named_children)
    return False


_LISTS = re.compile(r"args|argv|parts|tokens|words|line|input", re.I)
_PLAIN = frozenset({"true", "false", "null", "undefined", "identifier", "number"})


def _mentions(statements: Sequence[Node], word: Node) -> bool:
    """Say whether code looks at the word again that led to it: then its spellings do not all mean the same."""
    name = text_of(word)
    if word.type == "identifier":
        return any(name in identifiers_in(each) for each in statements)
    return any(name in text_of(each) for each in statements)


def _looks_again(asking: Node, statements: Sequence[Node]) -> bool:
    """Say whether code looks again at a word that a condition asked for."""
    condition = asking.child_by_field_name("condition") or asking
    plain = {name for name in identifiers_in(condition) if not _LISTS.search(name)}
    picked = [text_of(each) for each in _picked_in(condition)]
    used = {name for each in statements for name in identifiers_in(each)}
    return bool(plain & used) or any(pick in text_of(each) for pick in picked for each in statements)


def _picked_in(condition: Node) -> list[Node]:
    found, waiting = [], [condition]
    while waiting:
        each = waiting.pop()
        if each.type == "subscript_expression":
            found.append(each)
        waiting.extend(each.named_children)
    return found


def _doc_of_case(case: Node) -> str:
    """Return the comment of a case: above it, or behind the end of the one before."""
    above = comment_above(case)
    before = case.prev_named_sibling
    if above or before is None or before.type != "switch_case":
        return above
    trailing: list[Node] = []
    for child in reversed(before.named_children):
        if child.type != "comment":
            break
        trailing.insert(0, child)
    lines = [each for each in trailing if case.start_point[0] - each.end_point[0] <= len(trailing)]
    return plain_comment("\n".join(text_of(each) for each in lines))
