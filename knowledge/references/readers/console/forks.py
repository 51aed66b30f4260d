"""Forks of the way: the words that a condition or a switch asks for, and where each leads."""

from abc import abstractmethod
from collections.abc import Sequence

from tree_sitter import Node

from knowledge.references.readers.console.command_points import MOST_POINTS, CommandPoint
from knowledge.references.readers.console.conditions import Conditions, WordQuestion
from knowledge.references.readers.console.shape import body_of, doc_of_case, looks_again, mentions, statements_of
from knowledge.references.readers.console.source import text_of, unwrap
from knowledge.references.readers.console.values import Env, Flag, SourceText, Value, WholeLine, Word

MOST_WORDS = 10


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
            asked = self.question_of(condition, env, place) if condition is not None else None
            if asked is not None and asked.known is None:
                again = condition is not None and looks_again(condition, body_of(cases, cases.index(case)))
                for target in self.targets(asked, place, case, again):
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
                self.trouble(case, "What this case stands for cannot be read.")
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

    def _other_names(self, position: int, label: str) -> list[str]:
        return self.other_names.get((position, label), [])

    def targets(self, asked: WordQuestion, place: CommandPoint, node: Node, separate: bool) -> list[CommandPoint]:
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

    def _target(self, position: int, labels: tuple[str, ...], place: CommandPoint, node: Node) -> CommandPoint:
        self.places += 1
        if self.places > MOST_POINTS:
            raise TooMuch
        between = tuple(f"<{place.bound.get(at, 'value').strip('[]')}>" for at in range(len(place.path), position))
        here = place.beyond(between, between[-1:], node) if between else place
        labels = tuple(
            dict.fromkeys([*labels, *(each for label in labels for each in self._other_names(position, label))])
        )
        words = tuple(labels[0].split())
        spellings = tuple(label for label in labels if len(label.split()) == 1) if len(words) == 1 else (words[-1],)
        target = here.beyond(words, spellings, node)
        for other in labels[1:] if len(words) > 1 else [label for label in labels if len(label.split()) > 1]:
            here.beyond(tuple(other.split()), (other.split()[-1],), node)
        return target
