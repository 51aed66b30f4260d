"""The statements of code: which ones belong to a case, which ones leave it, which ones do anything."""

import re
from collections.abc import Sequence
from itertools import islice

from tree_sitter import Node

from knowledge.references.readers.console.source import (
    FUNCTIONS,
    comment_above,
    identifiers_in,
    nodes_in,
    plain_comment,
    text_of,
)

LEAVES = frozenset({"return_statement", "throw_statement", "break_statement", "continue_statement"})
_LISTS = re.compile(r"args|argv|parts|tokens|words|line|input", re.I)
# What a parser of options may call: methods of texts and lists, and what makes values of texts.
_OF_TEXTS = frozenset(
    """at charAt charCodeAt concat endsWith entries every exec filter find findIndex flat flatMap forEach from
    fromEntries get has includes indexOf isArray isNaN isInteger isFinite join keys lastIndexOf map match
    matchAll normalize padEnd padStart parse parseFloat parseInt pop push reduce repeat replace replaceAll
    reverse set shift slice some sort splice split startsWith stringify substr substring test toLowerCase
    toString toUpperCase trim trimEnd trimStart unshift values assign Boolean Number String BigInt""".split()  # noqa: SIM905 (reads better)
)
_DASH = re.compile(
    r"""(?:startsWith|indexOf|lastIndexOf|search|match|test)\(\s*(?:['"`]--?['"`]|/\^\\?-)"""
    r"""|/\^\(?:?\\?-[^/\n]{0,80}/[a-z]{0,4}\.(?:test|exec)"""
    r"""|(?:\[0\]|charAt\(0\))\s{0,3}={2,3}\s{0,3}['"`]-['"`]"""
)
_DASH_LABEL = re.compile(r"""case\s*['"`]-""")
_PARSES = re.compile(r"(parse|extract|split|read|collect)\w*(arg|flag|opt|param)\w*", re.I)
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
    picked = [text_of(each) for each in nodes_in(condition) if each.type == "subscript_expression"]
    used = {name for each in statements for name in identifiers_in(each)}
    return bool(plain & used) or any(pick in text_of(each) for pick in picked for each in statements)


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


def is_option_parser(function: Node) -> bool:
    """Say whether a function takes words apart into options and gives them back, and does nothing else.

    It looks for words that begin with a dash, returns what it made, and calls nothing but methods of texts and lists.
    A handler that prints `--` in its help, or reads its own options before it acts, does more than that.
    """
    looks_for_dashes = gives_back = calls_others = asks_for_words = waits = False
    for node in islice(nodes_in(function), 1, None):
        calls_others = calls_others or (node.type == "call_expression" and _callee_name(node) not in _OF_TEXTS)
        asks_for_words = asks_for_words or (node.type == "switch_case" and not _DASH_LABEL.match(text_of(node)[:20]))
        waits = waits or node.type == "await_expression"
        looks_for_dashes = looks_for_dashes or _tests_for_dash(node)
        gives_back = gives_back or (node.type == "return_statement" and bool(node.named_children))
    body = function.child_by_field_name("body")
    gives_back = gives_back or (body is not None and body.type != "statement_block")
    is_pure = not calls_others or _PARSES.fullmatch(_name_of(function)) is not None
    return looks_for_dashes and gives_back and is_pure and not (asks_for_words or waits)


def _callee_name(call: Node) -> str:
    callee = call.child_by_field_name("function")
    member = callee.child_by_field_name("property") if callee is not None else None
    return "" if callee is None else text_of(member if member is not None else callee)[:80]


def _tests_for_dash(node: Node) -> bool:
    is_test = node.type in ("call_expression", "binary_expression") and node.end_byte - node.start_byte < 400
    return is_test and _DASH.search(text_of(node)) is not None


def _name_of(function: Node) -> str:
    owner = function if function.child_by_field_name("name") is not None else function.parent
    name = owner.child_by_field_name("name") if owner is not None else None
    return text_of(name)[:80] if name is not None else ""
