"""Texts not worth keeping: greetings, what is true only for a moment, and what every session receives anyway.

Stored, they would be sent at the start of every later session. They are refused with the reason and what to do instead.
"""

import re
from itertools import pairwise

from accounts.actor import Actor
from accounts.people.profiles import get_profile
from bigmind.core.errors import Invalid

from .near_duplicates import is_worded_alike
from .statement_parsing import word_set

MOST_WORDS = 30
"""A longer text says more than a greeting or a status."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
# The heading and the labels of a start context (`templates/agent/context.md`): some agents store what they were sent.
_HANDED_OUT = re.compile(r"BigMind Context — loaded|\*\*\[(?:identity|preference|constraint|decision|codebase)\]\*\*")
_INSTEAD = "Store what will still be true next week; what happened in this conversation: memory_flag_important."

_GREETING = word_set(
    "hi hello hey hallo hola bonjour moin servus greetings thanks thank you thx ty good morning afternoon evening "
    "night day bye goodbye ciao see later ok okay yes no yep nope sure please welcome cheers great nice cool perfect "
    "awesome well done how are is it going there everyone all again so much very for your the help danke bitte guten "
    "tag test testing ping pong that this i'm fine"
)
_SAYS_HELLO = word_set(
    "hi hello hey hallo hola bonjour moin servus greetings thanks thank thx bye goodbye ciao ok okay "
    "yes no yep nope cheers great nice cool perfect awesome danke guten good test testing ping pong"
)
_DOING = word_set(
    "running testing checking waiting looking debugging building deploying reading opening installing restarting "
    "fixing compiling investigating typing trying searching writing editing reviewing loading downloading uploading "
    "starting executing rerunning retrying working refactoring committing pushing merging rebasing"
)
_DID = word_set(
    "ran tested checked opened installed restarted fixed compiled searched edited committed pushed merged reran"
)
_ON = word_set(
    "test tests suite build script command query linter linters benchmark benchmarks job pipeline migration migrations "
    "server it this that log logs file files diff output ci branch trace bug error errors function page terminal code "
    "deploy deployment pr commit changes module container app reply answer response"
)
_ONGOING = word_set(
    "failing passing running waiting broken down green red open busy stuck building deploying loading slow"
)
_AT_THIS_MOMENT = (("right", "now"), ("just", "now"), ("this", "moment"), ("the", "moment"), ("this", "minute"))
_SURROUNDINGS = (
    ("today", "is"),
    ("current", "date"),
    ("current", "time"),
    ("current", "directory"),
    ("working", "directory"),
    ("session", "id"),
    ("let", "me"),
)


def require_worth_keeping(actor: Actor, fact: str) -> None:
    """Refuse what is not worth keeping.

    Raises:
        Invalid: it is a greeting, true only for a moment, or sent to every session already.
    """
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(fact)]
    if _is_greeting(words):
        raise Invalid.of("fact", "is a greeting or an answer, no fact", hint="Just reply to it. " + _INSTEAD)
    if _is_momentary(words):
        raise Invalid.of("fact", "says what is so at this moment only", hint=_INSTEAD)
    if _HANDED_OUT.search(fact):
        hint = "It comes from memory, so it is stored already. To change a line of it: memory_correct_fact with its F…"
        raise Invalid.of("fact", "repeats the context that this session was told", hint=hint)
    profile = get_profile(actor)
    for place, told in (("pinned facts", profile.pinned_facts), ("preferences", profile.preferences.splitlines())):
        if any(is_worded_alike(line, fact) and not _differ_in_numbers(line, fact) for line in told):
            hint = "Nothing to do. To change it: memory_update_profile."
            raise Invalid.of("fact", f"stands in the profile ({place}), which every session is told", hint=hint)


def _is_greeting(words: list[str]) -> bool:
    return len(words) <= MOST_WORDS and set(words) <= _GREETING and not _SAYS_HELLO.isdisjoint(words)


def _is_momentary(words: list[str]) -> bool:
    """Whether a text tells what someone is doing, how something stands just now, or what surrounds the session."""
    if not words or len(words) > MOST_WORDS:
        return False
    pairs = set(pairwise(words))
    is_now = not pairs.isdisjoint(_AT_THIS_MOMENT)
    # “The current directory is …”, “Let me look at …”
    if not set(pairwise(words[:4])).isdisjoint(_SURROUNDINGS):
        return True
    doing = next((place for place, word in enumerate(words[:6]) if word in _DOING), None)
    # “I am running the tests”
    if doing is not None and _is_somebody(words[:doing]):
        return is_now or not _ON.isdisjoint(words[doing + 1 : doing + 5])
    # “I just fixed the build”
    if words[0] in {"i", "we", "i've", "we've"} and "just" in words[:3]:
        return not _DID.isdisjoint(words[1:4])
    # “CI is failing right now”
    return is_now and not _ONGOING.isdisjoint(words)


def _is_somebody(words: list[str]) -> bool:
    """Whether these words before a verb say that someone is at it: “I am now”, “the agent is still”, or nothing."""
    rest = [word for word in words if word not in {"now", "currently", "still", "just", "the"}]
    who = {"i", "we", "user", "agent", "assistant", "he", "she", "i'm", "we're", "am", "are", "is", "been", "have"}
    return set(rest) <= who


def _differ_in_numbers(one: str, other: str) -> bool:
    return re.findall(r"\d+", one) != re.findall(r"\d+", other)
