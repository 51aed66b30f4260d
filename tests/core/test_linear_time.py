"""No text from outside holds the interpreter: time grows with its length, whatever is in it."""

import re
from pathlib import Path

import pytest

from bigmind.core.screening.secret_formats import PREFIXES, compile_format
from tests.core.patterns import PACKAGES, Applied, every_pattern, hostile_texts
from tests.pathological import bank, meet
from tests.processor_time import GIVEN_UP, GROWTH, KIB, SECONDS, holds_too_long, seconds_of

ROOT = Path(__file__).parent.parent.parent
QUICK_SECONDS = 0.003
FINDITER = frozenset({"finditer"})
# Whose callers cut what they give to it, and to how many characters.
BOUNDED = {
    "bigmind.core.screening.secret_formats._BEFORE": 100,
    "bigmind.core.screening.labelled_secrets._ASSIGNED": 1_200,
    "bigmind.core.screening.labelled_secrets._FOLLOWING": 1_200,
    "bigmind.core.screening.labelled_secrets._SPOKEN": 1_200,
    "knowledge.references.readers.console.help_texts._ROW": 400,
    "knowledge.references.readers.help.usage._TOKEN": 2_000,
    "knowledge.lessons.normalization.STEPS": 500,
}


# Applied at one place of a text, by a function that is handed the pattern.
MATCHED = {
    "bigmind.core.screening.labelled_secrets._ASSIGNED",
    "bigmind.core.screening.labelled_secrets._FOLLOWING",
} | {"bigmind.core.screening.labelled_secrets._SPOKEN"}


@pytest.mark.parametrize(
    ("entrance", "name"),
    [
        ("rendering markdown", "a wide table"),
        ("screening", "secret("),
        ("screening", "password="),
        ("screening", "secret "),
        ("an import of basic-memory", "spaces in an item"),
        ("errors in a lesson", "backticks"),
        ("errors in a lesson", "lines of errors"),
        ("error in a log", "newlines"),
        ("fix in a lesson", "headings, then a letter"),
        ("command names", "backticks, growing"),
        ("contradictions", "capitals"),
        ("differences", "dots in an item"),
        ("excerpts", "words"),
        ("tags", "images"),
    ],
)
def test_what_held_the_interpreter_for_seconds_no_longer_does(entrance: str, name: str) -> None:
    assert not holds_too_long(lambda text: meet(entrance, text), lambda size: dict(bank(size))[name])


OF_FORMATS = [Applied(f"a format: {prefix}", compile_format(prefix, body), FINDITER) for _, prefix, body in PREFIXES]
# Patterns are looked for when these tests run: whoever collects tests would wait for that, too.
PARTS = [
    "a format",
    *(
        f"{package}.{path.stem}"
        for package in PACKAGES
        for path in sorted((ROOT / package).iterdir())
        if path.suffix in {"", ".py"} and not path.name.startswith("__")
    ),
]


def _part_of(applied: Applied) -> str:
    return ".".join(applied.where.split(":")[0].split(".")[:2])


def test_every_pattern_of_the_code_is_found():
    patterns = every_pattern() + OF_FORMATS

    assert len(patterns) > 400
    assert {"knowledge.transfer.readers.basic_memory.OBSERVATION", "knowledge.lessons.log_lines.COMPILERS"} <= {
        one.where for one in patterns
    }
    assert {_part_of(one) for one in patterns} <= set(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_a_pattern_takes_time_that_grows_with_the_text(part: str):
    patterns = [one for one in every_pattern() + OF_FORMATS if _part_of(one) == part]

    assert {one.where: slow for one in patterns if (slow := _slow_text(one))} == {}


def _slow_text(applied: Applied) -> tuple[object, ...]:
    """Return how long the pattern took for a text that took too long, and how that begins; nothing if none did."""
    bound = BOUNDED.get(applied.where)
    sizes = [24, bound] if bound else [24, 4 * KIB, 16 * KIB]
    for texts in zip(*(hostile_texts(applied.pattern, size) for size in sizes), strict=True):
        tiny, short, *longer = texts
        if not (_is_quick(applied, tiny) and _is_quick(applied, short)):
            before = seconds_of(lambda text=short: _apply(applied, text), tries=3)
            allowed = min(GIVEN_UP, max(SECONDS / 4, GROWTH**2 * before))
            if not longer:
                if before >= SECONDS / 4:
                    return before, short[:80]
                continue
            tries = [seconds_of(lambda text=longer[0]: _apply(applied, text))]
            while tries[-1] >= allowed and tries[-1] < GIVEN_UP and len(tries) < 3:
                tries.append(seconds_of(lambda text=longer[0]: _apply(applied, text)))
            if tries[-1] >= allowed:
                return before, tries, short[:80], applied.methods
    return ()


def _is_quick(applied: Applied, text: str) -> bool:
    # The second try is for a machine that was busy during the first one.
    given_up = 10 * QUICK_SECONDS
    return any(seconds_of(lambda: _apply(applied, text), given_up=given_up) < QUICK_SECONDS for _ in range(2))


def _apply(applied: Applied, text: str) -> None:
    for method in {"match"} if applied.where in MATCHED else applied.methods:
        if method in {"sub", "subn"}:
            getattr(applied.pattern, method)("", text)
        elif method == "finditer":
            any(applied.pattern.finditer(text)) and sum(1 for _ in applied.pattern.finditer(text))
        else:
            getattr(applied.pattern, method)(text)


@pytest.mark.parametrize(
    "pattern", [r"\s+/\s+", r"\[[^\]]*\]", r"(a+)+$", r"(?m)^(`+)[^\n]*\n", r"\w+@", r".*\bflags\b"]
)
def test_a_pattern_that_takes_the_square_or_worse_is_caught(pattern: str) -> None:
    applied = Applied("here", re.compile(pattern), frozenset({"search"}))

    assert _slow_text(applied)
