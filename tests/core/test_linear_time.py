"""No text from outside holds the interpreter: time grows with its length, whatever is in it."""

import re
from itertools import pairwise, product
from pathlib import Path

import pytest

from bigmind.privacy.screening.secret_formats import PREFIXES, compile_format
from tests.core.patterns import PACKAGES, Applied, every_pattern, hostile_texts
from tests.pathological import bank, meet
from tests.processor_time import KIB, SECONDS, holds_too_long, seconds_of

ROOT = Path(__file__).parent.parent.parent
TINY, SIZES = 24, (512, 2 * KIB, 8 * KIB)
# No linear pattern of ours takes so long for the tiny text, and none that takes less for the second one is slow.
QUICK_SECONDS = 0.0005
GIVEN_UP = 0.25
# Each of the sizes is four times the one before: linear is 4, the square is 16.
GROWTH = 8
TRIES = 3
FINDITER = frozenset({"finditer"})
# Whose callers cut what they give to it, and to how many characters.
BOUNDED = {
    "bigmind.privacy.screening.secret_formats._BEFORE": 100,
    "bigmind.privacy.screening.labelled_secrets._ASSIGNED": 1_200,
    "bigmind.privacy.screening.labelled_secrets._FOLLOWING": 1_200,
    "bigmind.privacy.screening.labelled_secrets._SPOKEN": 1_200,
    "knowledge.references.readers.console.help_texts._ROW": 400,
    "knowledge.references.readers.help.usage._TOKEN": 2_000,
    "knowledge.lessons.normalization.STEPS": 500,
}


# Applied at one place of a text, by a function that is handed the pattern.
MATCHED = {
    "bigmind.privacy.screening.labelled_secrets._ASSIGNED",
    "bigmind.privacy.screening.labelled_secrets._FOLLOWING",
} | {"bigmind.privacy.screening.labelled_secrets._SPOKEN"}


@pytest.mark.parametrize(
    ("entrance", "name"),
    [
        ("rendering markdown", "a wide table"), ("screening", "secret("), ("screening", "password="),
        ("screening", "secret "), ("an import of basic-memory", "spaces in an item"),
        ("errors in a lesson", "backticks"), ("errors in a lesson", "lines of errors"),
        ("error in a log", "newlines"), ("fix in a lesson", "headings, then a letter"),
        ("command names", "backticks, growing"), ("contradictions", "capitals"), ("differences", "dots in an item"),
        ("excerpts", "words"), ("tags", "images"),
    ],
)  # fmt: skip
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


def test_a_group_that_gives_nothing_back_is_atomic() -> None:
    """Python before 3.11.5, such as that of Debian 12, misreads a possessive group: `(?:…)++` is `(?>(?:…)+)`."""
    possessive = re.compile(r"(?<!\\)\)(?:[*+?]|\{\d*,?\d*\})\+")

    assert [one.where for one in every_pattern() if possessive.search(one.pattern.pattern)] == []
    assert possessive.search(r"(?:a|b)*+")
    assert possessive.search(r"(?:a){1,3}+")
    assert not possessive.search(r"\(a\)++")


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


def _slow_text(applied: Applied) -> str:
    """Return the beginning of a text that takes longer than its length accounts for; nothing if there is none."""
    bound = BOUNDED.get(applied.where)
    for tiny, *longer in hostile_texts(applied.pattern, [TINY, bound] if bound else [TINY, *SIZES]):
        usual = longer[len(longer) // 2]
        if not _takes(applied, (tiny, usual), QUICK_SECONDS, tries=1):
            continue
        is_slow = _takes(applied, (tiny,), QUICK_SECONDS)
        if is_slow or (_takes(applied, (usual,), SECONDS / 4) if bound else _grows(applied, longer)):
            return f"{applied.methods} {longer[-1][:80]!r}"
    return ""


def _grows(applied: Applied, texts: list[str]) -> bool:
    """Whether the time grows by more than the length from each text to the next: the first to tell otherwise decides.

    Where a pattern looks ahead so far and no further, the first step may be steep.
    """
    return all(_takes(applied, (longer,), GROWTH * _seconds(applied, shorter)) for shorter, longer in pairwise(texts))


def _takes(applied: Applied, texts: tuple[str, ...], seconds: float, tries: int = TRIES) -> bool:
    """Whether each try takes so long: on a busy machine one of them may, although others do not."""
    allowed = min(seconds, GIVEN_UP)
    return all(seconds_of(lambda: _apply(applied, *texts), given_up=allowed) >= allowed for _ in range(tries))


def _seconds(applied: Applied, text: str) -> float:
    return seconds_of(lambda: _apply(applied, text), tries=TRIES, given_up=GIVEN_UP)


def _apply(applied: Applied, *texts: str) -> None:
    for method, text in product({"match"} if applied.where in MATCHED else applied.methods, texts):
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
