"""Names for values: declarations, parameters and patterns."""

from collections.abc import Sequence

from tree_sitter import Node

from knowledge.references.readers.console.command_points import CommandPoint
from knowledge.references.readers.console.source import string_of, text_of
from knowledge.references.readers.console.tables import Tables
from knowledge.references.readers.console.values import (
    UNKNOWN,
    AnyWord,
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


class Naming(Tables):
    """Gives names to values, and takes over what a default says."""

    def bind(self, pattern: Node, value: Value, env: Env, place: CommandPoint | None) -> None:
        """Give a name, or the names of a pattern, to a value."""
        here = place if place is not None else CommandPoint()
        if pattern.type == "identifier":
            env[text_of(pattern)] = value
            self._name_word(text_of(pattern), value, here)
        elif pattern.type == "assignment_pattern":
            left, right = pattern.child_by_field_name("left"), pattern.child_by_field_name("right")
            if left is not None and right is not None:
                self.bind(left, self.either(value, self.evaluate(right, env, here), here), env, place)
        elif pattern.type == "array_pattern":
            self._bind_elements(pattern, value, env, here)
        elif pattern.type == "object_pattern":
            for part in pattern.named_children:
                self._bind_property(part, value, env, here)

    def _name_word(self, name: str, value: Value, place: CommandPoint) -> None:
        if isinstance(value, Word) and value.position >= len(place.path):
            place.bound.setdefault(value.position, f"[{name}]" if value.default else name)

    def _bind_elements(self, pattern: Node, value: Value, env: Env, place: CommandPoint) -> None:
        index = 0
        for child in pattern.children:
            if child.type == ",":
                index += 1
            elif child.type == "rest_pattern" and child.named_children:
                self.bind(
                    child.named_children[0],
                    value.behind(index) if isinstance(value, LineWords) else UNKNOWN,
                    env,
                    place,
                )
            elif child.is_named and child.type != "comment":
                found = self.word(value.at(index), place) if isinstance(value, LineWords) else UNKNOWN
                self.bind(child, found, env, place)

    def _bind_property(self, part: Node, value: Value, env: Env, place: CommandPoint) -> None:
        if part.type == "shorthand_property_identifier_pattern":
            env[text_of(part)] = self.part(value, text_of(part), place)
        elif part.type == "pair_pattern":
            key, target = part.child_by_field_name("key"), part.child_by_field_name("value")
            if key is not None and target is not None:
                name = string_of(key) if key.type == "string" else text_of(key)
                self.bind(target, self.part(value, name, place), env, place)
        elif part.type == "object_assignment_pattern":
            left, right = part.child_by_field_name("left"), part.child_by_field_name("right")
            if left is not None and right is not None:
                default = self.evaluate(right, env, place)
                env[text_of(left)] = self.either(self.part(value, text_of(left), place), default, place)
        elif part.type == "rest_pattern" and part.named_children:
            self.bind(part.named_children[0], value if isinstance(value, Flags) else UNKNOWN, env, place)

    def gather(self, values: Sequence[Value]) -> Value:
        """Return several arguments as the words they are."""
        first = values[0] if values else UNKNOWN
        return (
            LineWords(first.position) if isinstance(first, Word) else first if isinstance(first, LineWords) else UNKNOWN
        )

    def item_of(self, value: Value) -> Value:
        """Return what a loop over a value sees."""
        return AnyWord() if isinstance(value, LineWords) else UNKNOWN

    def either(self, one: Value, other: Value, place: CommandPoint) -> Value:
        if isinstance(one, OneOfWays) and isinstance(other, Word | WholeLine) and self._are_names(one):
            return other
        default = other.text if isinstance(other, SourceText) else ""
        if isinstance(one, Word):
            return Word(one.position, one.default or default)
        if isinstance(one, Flag) and default:
            takes_value = default not in ("true", "false")
            place.option(one.name, default=default, value=f"<{one.name.lstrip('-')}>" if takes_value else "")
        return other if one is UNKNOWN else one

    def _are_names(self, choice: OneOfWays) -> bool:
        """Take over a table that gives the proper word for others: `NAMES[word] ?? word`."""
        named = [(way, way.value.text) for way in choice.ways if isinstance(way.value, SourceText)]
        for way, proper in named:
            self.other_names.setdefault((way.position, proper), []).extend(way.labels)
        return len(named) == len(choice.ways)
