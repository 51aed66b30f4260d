"""What expressions stand for: the words of the line are followed through names, slices and operators."""

import re
from collections.abc import Sequence
from dataclasses import replace

from tree_sitter import Node

from knowledge.references.readers.console.expression_values import (
    UNKNOWN,
    AnyWord,
    ClassInstance,
    Code,
    CommandPoint,
    CommandRecords,
    CommandTable,
    Env,
    Flag,
    Flags,
    LineWords,
    OneOfWays,
    SourceText,
    Texts,
    Value,
    WholeLine,
    Word,
)
from knowledge.references.readers.console.source import FUNCTIONS, Declared, arguments_of, string_of, text_of, unwrap
from knowledge.references.readers.console.tables import Tables

DEEPEST_EXPRESSION = 80
PROGRAM = re.compile(r"[a-z][a-z0-9_-]{0,39}")


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


class Evaluation(Naming):
    """Evaluates expressions."""

    def evaluate(self, node: Node, env: Env, place: CommandPoint) -> Value:
        """Return what an expression stands for."""
        self.spend()
        node = unwrap(node)
        if self.nested > DEEPEST_EXPRESSION:
            return UNKNOWN
        self.nested += 1
        try:
            read = getattr(self, f"_{node.type}", None)
            found = read(node, env, place) if read else self._others(node, env, place)
            assert isinstance(found, Value)
            return found
        finally:
            self.nested -= 1

    def _identifier(self, node: Node, env: Env, place: CommandPoint) -> Value:
        name = text_of(node)
        declared = None if name in env else self.source.lookup(name, node)
        found = env.get(name) or (self.constant(declared, place) if declared is not None else UNKNOWN)
        return replace(found, name=name) if isinstance(found, CommandTable) and self.source.entries_of(name) else found

    def constant(self, declared: Declared, place: CommandPoint) -> Value:
        value = declared.value
        if value.type in FUNCTIONS:
            return Code(value, declared.statement)
        if value.type in ("string", "template_string", "object", "array", "enum_declaration", "new_expression",
                          "identifier", "member_expression", "binary_expression"):  # fmt: skip
            return self.evaluate(value, {}, CommandPoint())
        return UNKNOWN

    def _string(self, node: Node, env: Env, place: CommandPoint) -> Value:
        return SourceText(string_of(node))

    def _template_string(self, node: Node, env: Env, place: CommandPoint) -> Value:
        inside = [each for each in node.named_children if each.type == "template_substitution"]
        values = [self.evaluate(each.named_children[0], env, place) for each in inside if each.named_children]
        fragments = [text_of(each) for each in node.named_children if each.type == "string_fragment"]
        lines = [value for value in values if isinstance(value, WholeLine)]
        if len(lines) == len(values) == 1 and text_of(node).endswith("}`") and len(fragments) < 2:
            put_in_front = "".join(fragments).strip()
            # Only a line that is cut into words afterwards proves what stands in front to be a program: see `split`.
            if not put_in_front or PROGRAM.fullmatch(put_in_front):
                return WholeLine(put_in_front or lines[0].program)
        if values and not "".join(fragments).strip(" :.") and all(isinstance(value, Word) for value in values):
            return values[0]
        text = string_of(node)
        for value in values:
            if isinstance(value, Word) and value.position >= len(place.path):
                place.bound.setdefault(value.position, "[value]" if value.default else "value")
        for each, value in zip(inside, values, strict=False):
            if isinstance(value, SourceText):
                name = re.findall(r"[A-Za-z_$][\w$]*", text_of(each)[2:200])
                text = text.replace("{" + (name[0] if name else "value") + "}", value.text)
        return SourceText(text)

    def _array(self, node: Node, env: Env, place: CommandPoint) -> Value:
        elements = [each for each in node.named_children if each.type != "comment"]
        if elements and all(unwrap(each).type == "object" for each in elements):
            return CommandRecords(node, env)
        fixed: list[Value] = []
        for each in elements:
            if each.type == "spread_element":
                spread = self.evaluate(each.named_children[0], env, place)
                if isinstance(spread, LineWords):
                    return LineWords(spread.start, (*fixed, *spread.fixed))
            fixed.append(self.evaluate(each, env, place))
        texts = [value.text for value in fixed if isinstance(value, SourceText)]
        return Texts(tuple(texts)) if texts and len(texts) == len(fixed) else UNKNOWN

    def _object(self, node: Node, env: Env, place: CommandPoint) -> Value:
        return CommandTable(node, env)

    def _enum_declaration(self, node: Node, env: Env, place: CommandPoint) -> Value:
        return CommandTable(node, env)

    def _new_expression(self, node: Node, env: Env, place: CommandPoint) -> Value:
        arguments = arguments_of(node)
        constructor = node.child_by_field_name("constructor")
        kind = text_of(constructor) if constructor is not None else ""
        if kind == "Map" and not arguments:
            return CommandTable(node, env)
        if kind in ("Map", "Set") and arguments:
            first = unwrap(arguments[0])
            return self.evaluate(first, env, place) if kind == "Set" else CommandTable(first, env)
        for each in arguments:
            self.say(self.evaluate(each, env, place), place)
        declared = self.source.lookup(kind, node)
        body = declared.value.child_by_field_name("body") if declared is not None else None
        return ClassInstance(body) if body is not None and body.type == "class_body" else UNKNOWN

    def _arrow_function(self, node: Node, env: Env, place: CommandPoint) -> Value:
        return Code(node, node, env)

    _function_expression = _arrow_function

    _method_definition = _arrow_function

    def _this(self, node: Node, env: Env, place: CommandPoint) -> Value:
        return UNKNOWN

    def _member_expression(self, node: Node, env: Env, place: CommandPoint) -> Value:
        owner, member = node.child_by_field_name("object"), node.child_by_field_name("property")
        name = text_of(member) if member is not None else ""
        if owner is None or owner.type == "this":
            declared = self.source.member(name, node)
            return self.constant(declared, place) if declared is not None else UNKNOWN
        return self.part(self.evaluate(owner, env, place), name, place)

    def _subscript_expression(self, node: Node, env: Env, place: CommandPoint) -> Value:
        owner, index = node.child_by_field_name("object"), node.child_by_field_name("index")
        if owner is None or index is None:
            return UNKNOWN
        on, at = self.evaluate(owner, env, place), self.evaluate(index, env, place)
        if isinstance(on, LineWords):
            return self.word(on.at(int(text_of(index))), place) if text_of(index).isdecimal() else UNKNOWN
        if isinstance(on, Flags) and isinstance(at, SourceText):
            return self.part(on, at.text, place)
        return self.look_up(on, at, node, place)

    def _binary_expression(self, node: Node, env: Env, place: CommandPoint) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        sign = node.child_by_field_name("operator")
        if left is None or right is None or sign is None:
            return UNKNOWN
        one, other = self.evaluate(left, env, place), self.evaluate(right, env, place)
        operator = text_of(sign)
        if operator in ("||", "??"):
            return self.either(one, other, place)
        if operator == "+" and isinstance(one, SourceText) and isinstance(other, SourceText):
            return SourceText(one.text + other.text)
        if operator == "+" and isinstance(one, SourceText):
            return SourceText(one.text + "{" + (re.sub(r"\W.*", "", text_of(right)) or "value") + "}")
        if isinstance(one, AnyWord) and isinstance(other, SourceText) and other.text.startswith("--"):
            place.option(other.text.split("=")[0])
        return other if operator == "&&" else UNKNOWN

    def _ternary_expression(self, node: Node, env: Env, place: CommandPoint) -> Value:
        condition = node.child_by_field_name("condition")
        if condition is not None:
            self.evaluate(condition, env, place)
        parts = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
        values = [self.evaluate(part, env, place) for part in parts if part is not None]
        return next((value for value in values if value is not UNKNOWN and not isinstance(value, SourceText)), UNKNOWN)

    def _assignment_expression(self, node: Node, env: Env, place: CommandPoint) -> Value:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return UNKNOWN
        value = self.evaluate(right, env, place)
        self.bind(left, value, env, place)
        return value

    def _others(self, node: Node, env: Env, place: CommandPoint) -> Value:
        if node.type.startswith("jsx"):
            return UNKNOWN
        for child in node.named_children:
            self.evaluate(child, env, place)
        return UNKNOWN

    def _statement_block(self, node: Node, env: Env, place: CommandPoint) -> Value:
        return UNKNOWN
