"""Conditions and switches that ask which word was typed, and where each of their ways leads."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tree_sitter import Node

from knowledge.references.readers.console.calls import Calls
from knowledge.references.readers.console.expression_values import (
    MOST_POINTS,
    AnyWord,
    CommandPoint,
    Env,
    Flag,
    LineWords,
    SourceText,
    Texts,
    Value,
    WholeLine,
    Word,
)
from knowledge.references.readers.console.source import arguments_of, text_of, unwrap
from knowledge.references.readers.console.statements import body_of, doc_of_case, looks_again, mentions, statements_of

MOST_WORDS = 10


@dataclass(frozen=True)
class WordQuestion:
    """A condition on one word, or on a word and then on the next.

    Attributes:
        labels: The words it asks for.
        negated: Whether it holds for every other word.
        then: What it asks besides.
        is_prefix: Whether it asks how the line begins.
        known: What it comes to, where the word has been typed already.
    """

    position: int
    labels: tuple[str, ...]
    negated: bool = False
    then: "WordQuestion | None" = None
    is_prefix: bool = False
    known: bool | None = None


class Conditions(Calls):
    """Reads conditions."""

    def question_of(self, condition: Node, env: Env, place: CommandPoint) -> WordQuestion | None:
        """Return what a condition asks of the words; nothing when it is about something else."""
        found = self._question_of(unwrap(condition), env, place, 0)
        return found if found is None else _settle(found, place)

    def _question_of(self, node: Node, env: Env, place: CommandPoint, depth: int) -> WordQuestion | None:
        self.spend()
        if depth > 60:
            return None
        if node.type == "unary_expression" and text_of(node)[:1] == "!":
            inner = self._question_of(unwrap(node.named_children[-1]), env, place, depth + 1)
            return None if inner is None or inner.then else replace(inner, negated=not inner.negated)
        if node.type == "binary_expression":
            return self._of_two(node, env, place, depth)
        if node.type == "call_expression":
            return self._of_call(node, env, place)
        self.evaluate(node, env, place)
        return None

    def _of_two(self, node: Node, env: Env, place: CommandPoint, depth: int) -> WordQuestion | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        operator = text_of(sign) if sign is not None else ""
        if left is None or right is None:
            return None
        if operator in ("===", "==", "!==", "!="):
            one, other = self.evaluate(left, env, place), self.evaluate(right, env, place)
            return self._equal(one, other, operator.startswith("!"), place) or self._equal(
                other, one, operator.startswith("!"), place
            )
        if operator in ("&&", "||"):
            one_asked = self._question_of(unwrap(left), env, place, depth + 1)
            other_asked = self._question_of(unwrap(right), env, place, depth + 1)
            return _both(one_asked, other_asked) if operator == "&&" else _either(one_asked, other_asked)
        self.evaluate(left, env, place)
        self.evaluate(right, env, place)
        return None

    def _equal(self, word: Value, other: Value, negated: bool, place: CommandPoint) -> WordQuestion | None:
        if isinstance(word, AnyWord) and isinstance(other, SourceText) and other.text.startswith("-"):
            place.option(other.text.split("=")[0])
        if isinstance(other, SourceText) and other.text:
            if isinstance(word, Word):
                return WordQuestion(word.position, (other.text,), negated)
            if isinstance(word, WholeLine):
                return WordQuestion(0, (other.text.strip(),), negated)
            if isinstance(word, SourceText):
                return WordQuestion(-1, (), known=(word.text == other.text) != negated)
        return None

    def _of_call(self, node: Node, env: Env, place: CommandPoint) -> WordQuestion | None:
        callee = node.child_by_field_name("function")
        arguments = arguments_of(node)
        if callee is None or callee.type != "member_expression" or not arguments:
            self.evaluate(node, env, place)
            return None
        owner, member = callee.child_by_field_name("object"), callee.child_by_field_name("property")
        name = text_of(member) if member is not None else ""
        on = self.evaluate(owner, env, place) if owner is not None else None
        given = self.evaluate(arguments[0], env, place)
        if isinstance(on, Texts) and name in ("includes", "has") and isinstance(given, Word):
            return WordQuestion(given.position, on.texts)
        if isinstance(on, Texts) and name in ("includes", "has") and isinstance(given, SourceText):
            return WordQuestion(-1, (), known=given.text in on.texts)
        if isinstance(on, WholeLine) and name == "startsWith" and isinstance(given, SourceText) and given.text.strip():
            return WordQuestion(0, (given.text.strip(),), is_prefix=True)
        if isinstance(on, Word) and name in ("startsWith", "endsWith", "match") and not _is_flag(given):
            self.unclear(node, place, on)
        elif name == "test" and isinstance(given, Word | WholeLine) and owner is not None:
            self.unclear(node, place, given)
        elif isinstance(on, LineWords) or not isinstance(on, Word):
            self.evaluate(node, env, place)
        return None

    def unclear(self, node: Node, place: CommandPoint, word: Value) -> None:
        """Report a condition that more words fulfil than can be listed."""
        position = word.position if isinstance(word, Word) else 0
        if position == len(place.path):
            self.note_problem(node, f"Which words `{_short(node)}` lets through cannot be listed.")

    def label_of(self, case: Node, env: Env, place: CommandPoint) -> str | None:
        """Return the word that a case stands for."""
        value = case.child_by_field_name("value")
        found = self.evaluate(value, env, place) if value is not None else None
        return found.text.strip() if isinstance(found, SourceText) and "{" not in found.text else None


def _is_flag(value: Value) -> bool:
    return isinstance(value, SourceText) and value.text.startswith("-")


def _settle(question: WordQuestion, place: CommandPoint) -> WordQuestion | None:
    """Return the condition with what is known of it already."""
    if question.known is not None or question.position >= len(place.path):
        if question.labels and all(label.startswith("-") for label in question.labels):
            for label in question.labels:
                place.option(label)
            return None
        return question
    holds = (place.path[question.position] in question.labels) != question.negated
    if not holds or question.then is None:
        return replace(question, known=holds)
    return _settle(question.then, place)


def _both(one: WordQuestion | None, other: WordQuestion | None) -> WordQuestion | None:
    if one is None or other is None:
        return one or other
    for known, rest in ((one, other), (other, one)):
        if known.known is not None:
            return rest if known.known else known
    if one.negated and other.negated and one.position == other.position:
        return replace(one, labels=(*one.labels, *other.labels))
    if one.negated or other.negated:
        return one if other.negated else other
    first, then = sorted((one, other), key=lambda each: each.position)
    return first if first.position == then.position else replace(first, then=then)


def _either(one: WordQuestion | None, other: WordQuestion | None) -> WordQuestion | None:
    if one is None or other is None:
        # `!cmd || cmd === "help"`: the part about words still leads there.
        return one or other
    if one.known is not None:
        return one if one.known else other
    if other.known is not None:
        return other if other.known else one
    if one.position == other.position and not one.negated and not other.negated:
        return replace(one, labels=(*one.labels, *other.labels))
    return one


def _short(node: Node) -> str:
    return re.sub(r"\s+", " ", text_of(node))[:80]


class TooMuch(Exception):
    """The walk came to its limits."""


class Forks(Conditions):
    """Follows switches, and finds the places that words lead to."""

    @abstractmethod
    def run(self, statements: Sequence[Node], env: Env, place: CommandPoint) -> CommandPoint | None:
        """Go through statements; return where their end leads, or nothing when they never get there."""

    def _switch(self, statement: Node, env: Env, place: CommandPoint) -> CommandPoint | None:
        value, body = statement.child_by_field_name("value"), statement.child_by_field_name("body")
        if value is None or body is None:
            return place
        on = self.evaluate(value, env, place)
        if isinstance(on, WholeLine):
            on = Word(0)
        if isinstance(on, Word) and on.position < len(place.path):
            on = SourceText(place.path[on.position])
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

    def _is_taken(
        self, case: Node, on: Value, value: Node, cases: Sequence[Node], env: Env, place: CommandPoint
    ) -> bool:
        if isinstance(on, SourceText):
            labels = {self.label_of(each, env, place) for each in cases if each.type == "switch_case"}
            return self.label_of(case, env, place) == on.text if on.text in labels else case.type == "switch_default"
        if text_of(unwrap(value)) == "true" and case.type == "switch_case":
            condition = case.child_by_field_name("value")
            question = self.question_of(condition, env, place) if condition is not None else None
            if question is not None and question.known is None:
                again = condition is not None and looks_again(condition, body_of(cases, cases.index(case)))
                for target in self.targets(question, place, case, again):
                    target.doc = target.doc or doc_of_case(case)
                    self._case(cases, cases.index(case), dict(env), target)
                return False
        return True

    def _ways(self, on: Word, value: Node, cases: Sequence[Node], env: Env, place: CommandPoint) -> CommandPoint | None:
        """Follow every case of a switch on a word: labels above one body are spellings of one command."""
        labels: list[str] = []
        first: Node | None = None
        for number, case in enumerate(cases):
            if case.type == "switch_default":
                # Where a word falls through to the default, the default is that word.
                if not number or statements_of(cases[number - 1]):
                    self._case(cases, number, dict(env), place)
                continue
            label = self.label_of(case, env, place)
            if label is None:
                self.note_problem(case, "What this case stands for cannot be read.")
            else:
                labels.append(label)
            first = first or case
            if not statements_of(case) and number + 1 < len(cases) and cases[number + 1].type == "switch_case":
                continue
            if labels:
                self._follow(on, value, labels, first, cases, number, env, place)
            labels, first = [], None
        return place

    def _follow(
        self, on: Word, value: Node, labels: Sequence[str], first: Node, cases: Sequence[Node], number: int, env: Env,
        place: CommandPoint,
    ) -> None:  # fmt: skip
        if on.default in labels:
            place.default = on.default
        separate = len(labels) > 1 and mentions(body_of(cases, number), unwrap(value))
        for target in self.targets(WordQuestion(on.position, tuple(labels)), place, first, separate):
            target.doc = target.doc or doc_of_case(first) or doc_of_case(cases[number])
            self._case(cases, number, dict(env), target)

    def _case(self, cases: Sequence[Node], number: int, env: Env, place: CommandPoint) -> None:
        self.run(body_of(cases, number), env, place)

    def targets(self, question: WordQuestion, place: CommandPoint, node: Node, separate: bool) -> list[CommandPoint]:
        """Return the places that the words of a condition lead to: one for all that mean the same."""
        if question.position >= MOST_WORDS:
            self.note_problem(node, f"Commands of more than {MOST_WORDS} words are not followed.")
            return []
        if question.position < len(place.path):
            return [place] if place.path[question.position] in question.labels else []
        options = [label for label in question.labels if label.startswith("-")]
        for label in options:
            place.option(label)
        labels = [label for label in question.labels if label and not label.startswith("-")]
        groups = [(label,) for label in labels] if separate else [tuple(labels)] if labels else []
        found = [self._target(question.position, group, place, node) for group in groups]
        if question.then is None:
            return found
        return [deeper for each in found for deeper in self.targets(question.then, each, node, separate)]

    def _target(self, position: int, labels: tuple[str, ...], place: CommandPoint, node: Node) -> CommandPoint:
        self.places += 1
        if self.places > MOST_POINTS:
            raise TooMuch
        between = tuple(f"<{place.bound.get(at, 'value').strip('[]')}>" for at in range(len(place.path), position))
        here = place.beyond(between, between[-1:], node) if between else place
        others = [each for label in labels for each in self.other_names.get((position, label), [])]
        labels = tuple(dict.fromkeys([*labels, *others]))
        words = tuple(labels[0].split())
        spellings = tuple(label for label in labels if len(label.split()) == 1) if len(words) == 1 else (words[-1],)
        target = here.beyond(words, spellings, node)
        for other in labels[1:] if len(words) > 1 else [label for label in labels if len(label.split()) > 1]:
            here.beyond(tuple(other.split()), (other.split()[-1],), node)
        return target
