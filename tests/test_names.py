"""Names are the field's words: one thing for each class name, functions that are verbs, no private words.

They are read from the source and not imported, so this takes a second. A red line says what to rename.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("bigmind", "accounts", "knowledge", "curation")

# Django looks for a command under this name.
NAMED_BY_DJANGO = {"Command", "Meta"}

# What reads as a participle and is a verb: it ends in the letters of one.
VERBS = {"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed", "weed"}
# Those that are also an infinitive or a noun (cut, let, put, read, run, set, hit, split, come) are left out.
IRREGULAR = {
    "begun", "bent", "born", "bought", "bound", "broken", "brought", "built", "caught", "chosen", "done",
    "drawn", "driven", "fallen", "felt", "forgotten", "found", "frozen", "given", "gone", "got", "grown",
    "heard", "held", "hidden", "kept", "known", "laid", "learnt", "left", "lent", "lost", "made", "meant",
    "met", "paid", "said", "seen", "sent", "shown", "sold", "sought", "spent", "spoken", "stolen", "stood",
    "taken", "taught", "thought", "thrown", "told", "torn", "understood", "withdrawn", "withheld", "won",
    "worn", "written",
}  # fmt: skip
# What is read like an attribute is named like one, and a queryset says what it holds: `Note.objects.expired()`.
READ_AS_ATTRIBUTES = {"property", "cached_property", "computed_field", "setter", "display"}
CALLED_BY_A_FRAMEWORK = {"filter", "simple_tag", "inclusion_tag", "receiver", "field_validator", "model_validator"}

PRIVATE_WORDS = {
    "aside", "arms", "arrival", "deed", "departure", "door", "entering", "farewell", "guesses", "handover",
    "house", "knower", "letters", "likeness", "lineages", "lookalike", "manners", "minutes", "moving_in",
    "patience", "pieces", "places", "recalls", "room", "serving", "shelf", "tally", "telling", "troubles",
    "turns", "unusual", "wall", "watching", "writing",
}  # fmt: skip
FORMS = [form for word in PRIVATE_WORDS for form in (word, f"{word[:-1]}ies" if word.endswith("y") else f"{word}s")]
# A model keeps its class name: migrations, permissions and content types go by it. Its admin is called after it.
MODELS = {"Serving", "ServingAdmin", "Writing", "WritingAdmin", "TaskTally", "TaskTallyAdmin"}
# “Set aside” is what people call the archive (SPEC, section 2).
SPOKEN = {"CanBeSetAside", "_CanBeSetAside"}


@pytest.fixture(scope="module")
def definitions():
    """Every class and function of each module of ours, with the class it is in."""
    return {
        str(path.relative_to(ROOT)): list(_definitions(ast.parse(path.read_text()).body))
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if "migrations" not in path.parts
    }


def test_a_class_name_stands_for_one_thing(definitions):
    paths = defaultdict(list)
    for path, node, _ in _each(definitions, ast.ClassDef):
        if node.name not in NAMED_BY_DJANGO:
            paths[node.name].append(path)

    assert {name: found for name, found in paths.items() if len(found) > 1} == {}


def test_functions_are_named_by_verbs_and_not_by_participles(definitions):
    named = [
        f"{path}:{node.lineno} {node.name}"
        for path, node, around in _each(definitions, ast.FunctionDef | ast.AsyncFunctionDef)
        if _is_participle(_words(node.name)[:1]) and not _may_be_one(node, around)
    ]

    assert named == []


def test_modules_and_classes_have_no_private_words(definitions):
    modules = [path for path in definitions if any(_is_private(part) for part in Path(path).with_suffix("").parts)]
    classes = [
        f"{path}:{node.lineno} {node.name}"
        for path, node, _ in _each(definitions, ast.ClassDef)
        if node.name not in MODELS | SPOKEN and _is_private(node.name)
    ]

    assert modules + classes == []


@pytest.mark.parametrize("name", ["_told", "locked_error", "named", "writtenByHand"])
def test_a_participle_is_noticed(name):
    assert _is_participle(_words(name)[:1])


@pytest.mark.parametrize("name", ["embed", "feed_reader", "listen", "read", "open_database", "set_status", "is_named"])
def test_a_verb_is_no_participle(name):
    assert not _is_participle(_words(name)[:1])


@pytest.mark.parametrize("name", ["WallMiddleware", "moving_in", "_Deed", "lookalikes", "TaskTally", "Rooms"])
def test_a_private_word_is_noticed(name):
    assert _is_private(name)


@pytest.mark.parametrize("name", ["Firewall", "MovingAverage", "RowAdmin", "placeholders", "minute_window"])
def test_a_word_that_has_a_private_one_in_it_is_its_own(name):
    assert not _is_private(name)


def _definitions(statements, around=None):
    """Yield every class and function below, each with the class it is in. Expressions, which are most, have none."""
    for node in statements:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, around
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            below = getattr(node, name, ())
            yield from _definitions(below, node if isinstance(node, ast.ClassDef) else around)


def _each(definitions, kind):
    return [
        (path, node, around) for path, found in definitions.items() for node, around in found if isinstance(node, kind)
    ]


def _may_be_one(function, around):
    decorators = {name for decorator in function.decorator_list for name in _words_of_decorator(decorator)}
    is_of_queryset = around is not None and around.name.endswith(("QuerySet", "Manager"))
    return is_of_queryset or bool(decorators & (READ_AS_ATTRIBUTES | CALLED_BY_A_FRAMEWORK))


def _words_of_decorator(decorator):
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(target).split(".")


def _is_participle(first):
    return any(word in IRREGULAR or (word.endswith("ed") and len(word) > 3 and word not in VERBS) for word in first)


def _is_private(name):
    joined = "_".join(_words(name))
    return re.search(rf"(?:^|_)(?:{'|'.join(FORMS)})(?:_|$)", joined) is not None


def _words(name):
    """Split snake_case and CamelCase into lower-case words."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)]
