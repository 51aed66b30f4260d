"""The shape of code, whatever it is about: which statements belong to a case, what leaves, what does anything."""

import re
from collections.abc import Sequence

from tree_sitter import Node

from knowledge.generators.console.source import FUNCTIONS, comment_above, identifiers_in, plain_comment, text_of

LEAVES = frozenset({"return_statement", "throw_statement", "break_statement", "continue_statement"})
_LISTS = re.compile(r"args|argv|parts|tokens|words|line|input", re.I)
_PLAIN = frozenset({"true", "false", "null", "undefined", "identifier", "number"})


def statements_of(case: Node) -> list[Node]:
    """Return the statements of a case."""
    value = case.child_by_field_name("value")
    return [each for each in case.named_children if each.type != "comment" and (value is None or each.id != value.id)]


def body_of(cases: Sequence[Node], number: int) -> list[Node]:
    """Return what runs from a case on: its statements, and those of the next cases until one leaves."""
    found: list[Node] = []
    for case in cases[number:]:
        found += statements_of(case)
        if found and leaves(found[-1]):
            break
    return found


def leaves(statement: Node) -> bool:
    """Say whether a statement always leaves what it stands in."""
    for _ in range(20):
        if statement.type != "statement_block" or not statement.named_children:
            break
        statement = statement.named_children[-1]
    return statement.type in LEAVES


def acts(node: Node) -> bool:
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


def mentions(statements: Sequence[Node], word: Node) -> bool:
    """Say whether code looks at the word again that led to it: then its spellings do not all mean the same."""
    name = text_of(word)
    if word.type == "identifier":
        return any(name in identifiers_in(each) for each in statements)
    return any(name in text_of(each) for each in statements)


def looks_again(asking: Node, statements: Sequence[Node]) -> bool:
    """Say whether code looks again at a word that a condition asked for."""
    condition = asking.child_by_field_name("condition") or asking
    plain = {name for name in identifiers_in(condition) if not _LISTS.search(name)}
    picked = [text_of(each) for each in picked_in(condition)]
    used = {name for each in statements for name in identifiers_in(each)}
    return bool(plain & used) or any(pick in text_of(each) for pick in picked for each in statements)


def picked_in(condition: Node) -> list[Node]:
    found, waiting = [], [condition]
    while waiting:
        each = waiting.pop()
        if each.type == "subscript_expression":
            found.append(each)
        waiting.extend(each.named_children)
    return found


def doc_of_case(case: Node) -> str:
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
