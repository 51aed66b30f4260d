"""Prompt injections: finds suspicious places in a text, for the curator who decides whether agents may see it."""

import re
import unicodedata
from base64 import b64decode
from binascii import Error as Base64Error
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from bigmind.text.hygiene import find_hidden_spans

Severity = Literal["notice", "warning"]


@dataclass(frozen=True)
class Sign:
    """What suspicious texts have in common: patterns, what they are signs of, and why that matters."""

    kind: str
    why: str
    severity: Severity
    patterns: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]
    """Each with texts in lower case, one of which is in whatever it matches: most texts have none."""


def _sign(kind: str, why: str, severity: Severity, *patterns: tuple[str, str]) -> Sign:
    made = ((tuple(needles.split(" / ")), _compile(pattern)) for needles, pattern in patterns)
    return Sign(kind, why, severity, tuple(made))


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)


_EARLIER = (
    r"(?:all|any|every\w{0,5}|these|those|your|my|of|previous|prior|earlier|above|preceding|foregoing|existing|initial"
    r"|original|other|system|safety|developer|current)"
)
_ORDERS = (
    r"(?:instruct\w{0,6}|prompts?|rules?|guidelines?|directions?|directives?|commands?|context|polic(?:y|ies)"
    r"|restrictions?|training|guardrails?|(?:you\s(?:were|have been)\s(?:told|taught|given)))"
)
_MODEL = r"(?:assistants?|agents?|ai|model|llm|chatbot|copilot|claude|chatgpt|gpt|gemini|cursor)"
_PEOPLE = r"(?:users?|humans?|operators?|person|anyone|anybody|developers?|customers?|owners?|curators?)"
_KNOWN = (
    r"(?:conversations?|chat history|memory|memories|system prompt|secrets|credentials|passwords|api keys|tokens|\.env"
    r"|env(?:ironment)? variables|env files?|ssh keys?|private keys?|source code|customer data)"
)
_TELL = r"(?:tell|inform|mention|reveal|disclose|notify|show|alert|warn|let)(?:ing)?"
_SENT_AWAY = "order to send something away"
_SENT_AWAY_WHY = "It tells an agent to hand over what it knows, which is how memories and secrets leave a company."

SIGNS = (
    _sign(
        "order to forget instructions",
        "It tells an agent to ignore the instructions of its user and its maker.",
        "warning",
        (
            "ignor / disregard / forget / overrid / bypass / discard",
            rf"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?"
            rf"|discard)\s{{1,3}}(?:\w{{1,12}}\s{{1,3}}){{0,3}}?"
            rf"{_EARLIER}\s{{1,3}}(?:[\w’']{{1,12}}\s{{1,3}}){{0,4}}?{_ORDERS}\b",
        ),
        (
            "ignorier / vergiss / missachte",
            r"\b(?:ignorier\w{0,3}|vergiss|missachte)\s[^.\n]{0,40}(?:anweisung|regel|vorgabe)\w{0,3}",
        ),
        (
            "ignora / olvida / ignorez / oublie",
            r"\b(?:ignora|olvida|ignorez|oublie[zr]?)\s[^.\n]{0,40}(?:instruc\w{2,8}|consignes|reglas)",
        ),
        (
            "忽略 / 无视 / 忘记 / 以前の指示 / игнорируй",
            r"(?:忽略|无视|忘记)[^。\n]{0,12}(?:指令|指示|规则|提示)|以前の指示を無視|игнорируй\w{0,3}\s[^.\n]{0,30}инструкц",
        ),
        ("from now on", rf"\bfrom now on,?\s{{1,3}}(?:you\b|{_MODEL}\b|ignore|respond|answer|reply|act)"),
        (
            "instruction / prompt / directive",
            r"\b(?:new|updated|real|actual|secret|hidden)\s(?:system\s)?(?:instructions?|prompt|directives?)\s?:",
        ),
        (
            "system / developer",
            r"\b(?:end|start|begin\w{0,4})\s(?:of\s)?(?:the\s)?(?:system|developer)\s?(?:prompt|message|instructions)\b",
        ),
    ),
    _sign(
        "change of role",
        "It tells an agent to be someone else, or to work without its limits.",
        "warning",
        (
            "you",
            r"\byou\s(?:are|'re)\s(?:now|no longer|henceforth)\s(?:an?\s|the\s|in\s|my\s|bound\s|dan\b|free"
            r"|unrestricted)",
        ),
        ("you must now", r"\byou must now\b"),
        (
            "pretend / roleplay / act",
            r"\b(?:pretend|roleplay|act)\s(?:to be|that you|as if you|as)\s(?:\w{1,12}\s){0,4}?"
            r"(?:unrestricted|jailbr\w{0,8}|dan|no\s(?:rules|limits|restrictions)|without\s(?:rules|limits"
            r"|restrictions))\b",
        ),
        (
            "mode",
            r"\b(?:developer|debug|god|dan|jailbreak|sudo)\smode\s(?:is\s)?(?:now\s)?(?:enabled|activated|unlocked)\b",
        ),
        (
            "safety / guardrail / content polic / safeguard / ethic",
            r"\b(?:disable|turn off|remove|without)\s(?:all\s|your\s|any\s)(?:safety|guardrails?|content polic"
            r"|safeguards?|ethic)",
        ),
    ),
    _sign(
        "order to keep something from the user",
        "Nothing that a company wants its agents to know has to be kept from their users.",
        "warning",
        (
            "tell / inform / mention / reveal / disclos / notify / show / alert / warn / let",
            rf"\b(?:do\s?n[o']t|don’t|do not|never|must not"
            rf"|without)\s(?:ever\s)?{_TELL}\s(?:\w{{1,12}}\s){{0,6}}?{_PEOPLE}\b",
        ),
        (
            "keep / hide / conceal",
            r"\b(?:keep|hide|conceal)\s(?:this|it|that|these|them)\s(?:\w{1,12}\s){0,4}?(?:secret|hidden"
            r"|from\s(?:the\s)?user)\b",
        ),
        (
            "silently / secretly / covertly",
            r"\b(?:silently|secretly|covertly)\s(?:send|run|execute|upload|post|forward|add|include|call|delete"
            r"|install|copy|approve)\b",
        ),
        (
            "without",
            r"\bwithout\s(?:the\s)?(?:user'?s?|human'?s?)\s(?:knowledge|noticing|consent|permission|approval"
            r"|confirmation)\b",
        ),
    ),
    _sign(
        "marker of another speaker",
        "Models use such markers to tell who speaks: the text could pass for a message of the system or the user.",
        "warning",
        (
            "<|",
            r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end|start_header_id|end_header_id|eot_id"
            r"|begin_of_text|channel|message)[^|<>\n]{0,20}\|>",
        ),
        ("inst] / sys> / _of_turn>", r"\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>"),
        ("<", r"</?(?:system|assistant|instructions?|system[-_](?:prompt|reminder|message|note))(?:\s[^<>\n]{0,80})?>"),
        (
            "system / assistant / developer",
            r"^[ \t>*#_-]{0,8}(?:system|assistant|developer)(?:\s(?:prompt|message|instructions?|override"
            r"|note))?[*_]{0,2}[ \t]?:"
            r"[*_]{0,2}\s{1,3}(?:you\b|ignore|from now|always|never|do not|don't|the user|new|important|override"
            r"|please|must|execute|call|run)",
        ),
        ("role", r"\"role\"\s{0,3}:\s{0,3}\"(?:system|assistant|developer|tool)\""),
    ),
    _sign(
        "marker of another speaker",
        "A line that begins so could pass for what someone else has said.",
        "notice",
        (
            "system / assistant / developer / human / user",
            r"^[ \t>*#_-]{0,8}(?:system|assistant|developer|human|user)(?:\s(?:prompt|message"
            r"|instructions?))?[*_]{0,2}[ \t]?:[*_]{0,2}(?=\s|$)",
        ),
    ),
    _sign(
        "imitated tool call",
        "It looks like a call of a tool or the result of one, which an agent or its client could take for real.",
        "warning",
        (
            "<",
            r"</?(?:\w{1,12}:)?(?:function_calls?|function_results?|invoke|tool_(?:call|use|result"
            r"|response)s?)\b[^<>\n]{0,80}>",
        ),
        (
            "tool_ / function_call / tools/call",
            r"\"(?:tool_calls?|tool_use|function_call|tool_use_id|tool_call_id)\"|\"method\"\s{0,3}:\s{0,3}\"tools/call\"",
        ),
        ("[tool_call / <|", r"\[TOOL_CALLS?\]|<\|python_tag\|>|<\|tool[^|<>\n]{0,20}\|>"),
    ),
    _sign(
        _SENT_AWAY,
        _SENT_AWAY_WHY,
        "warning",
        (
            "system prompt / instructions",
            r"\b(?:reveal|print|repeat|output|show|display|dump|leak)\s(?:\w{1,12}\s){0,4}?(?:system prompt"
            r"|(?:hidden|initial) instructions)\b",
        ),
        ("![", r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]{1,200}[?&][^)\s=]{0,30}=(?:\{|<|%7B|\$|\[)[^)\s]{0,200}\)"),
        (
            "![",
            r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]{1,200}[?&](?:data|secret|token|context|history|memory|leak"
            r"|exfil)=[^)\s]{0,200}\)",
        ),
        (
            "://",
            r"https?://(?:[\w-]{1,60}\.)?(?:webhook\.site|requestbin\.\w{2,4}|ngrok(?:-free)?\.(?:io|app)|pipedream\.net"
            r"|interact\.sh|oast\.\w{2,6}|burpcollaborator\.net|requestcatcher\.com|beeceptor\.com)\b",
        ),
    ),
    _sign(
        "heading that imitates BigMind",
        "BigMind's own context has such headings and handles: the text could pass for knowledge that people approved.",
        "warning",
        (
            "#",
            r"^[ \t>]{0,4}#{1,6}[^\n]{0,12}(?:BigMind Context|Company (?:knowledge|brain)|Tier[ -]G|Stored facts"
            r"|Pinned facts"
            r"|Recent sessions|Who you are|Open hypotheses)\b",
        ),
        ("#", r"^[ \t>]{0,4}#{1,6}\s{0,3}[🧠🌐👤📌📅🗂]"),
        ("[c / _recalled", r"^[ \t>]{0,4}(?:[-*+]\s{1,3})?[*_]{0,2}\[C\d{1,7}\]|_Recalled from what this user"),
        ("approved / verified / bigmind", r"^[ \t]{0,3}(?:`{3,}+|~{3,}+)[^\n`]{0,80}(?:approved|verified|bigmind)"),
    ),
    _sign(
        "handle of a company entry",
        "It names an entry as BigMind does. Look whether that entry says so.",
        "notice",
        ("[c", r"\[C\d{1,7}\]"),
    ),
    _sign(
        "hidden comment",
        "A rendered page does not show it; an agent reads it all the same.",
        "notice",
        ("<!--", r"<!--(?>(?:[^-]|-(?!->)){1,2000})(?:-->)?"),
        ("[// / [comment", r"^\[(?://|comment)\]:\s{0,3}(?:#|<>)\s{0,3}[(\"'][^\n]{1,400}"),
        (
            "<",
            r"<(?:span|div|p|font)\b[^>\n]{0,200}(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0"
            r"|color\s?:\s?transparent)",
        ),
    ),
    _sign(
        "command that runs what it downloads",
        "An agent that carries it out runs whatever the address answers on that day, or sends away what it finds.",
        "notice",
        ("curl / wget", r"\b(?:curl|wget)\b[^\n|]{0,160}\|\s{0,3}(?:sudo\s)?(?:ba|z)?sh\b|\bcurl\b[^\n]{0,120}\$\("),
        ("curl / nc / wget", r"\b(?:env|printenv|cat\s[^\n|]{1,80})\s?\|\s?(?:curl|nc|wget)\b"),
    ),
    _sign(
        "order to an agent",
        "It tells agents what to do instead of what is so. That may be a rule of the company, or someone's wish.",
        "notice",
        (
            "must / should / shall / have to / need to / required to",
            rf"\b(?:{_MODEL}|you)\s(?:must|should|shall|have to|need to|are required to)\b",
        ),
        (
            "attention / important / note / message",
            rf"\b(?:attention|important|note|message)\s(?:to|for)\s(?:all\s|any\s|every\s|the\s)?(?:ai\s)?{_MODEL}\b",
        ),
        ("you", rf"\b(?:if|when)\syou\s(?:are|'re)\san?\s(?:ai\s|language\s|coding\s)?{_MODEL}\b"),
        (
            "always / automatically / without",
            r"\b(?:always|automatically)\s(?:approve|accept|trust|execute|run)\b|\bwithout\s(?:asking|confirmation)\b",
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class InjectionSign:
    """One suspicious place: its kind in words, its position, why it matters, and how much.

    A `warning` hardly ever has an innocent reason; a `notice` is worth a look.
    """

    kind: str
    start: int
    end: int
    why: str
    severity: Severity


_BASE64 = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/]{24,}+={0,2}")
_BLOB_CHARS = 4000
_WORD = re.compile(r"[^\W\d_]{3,60}")
_HIDDEN_WHY = {
    "bidirectional control": "Text is shown in another order than it is read by an agent.",
    "tag character": "Whole sentences can be written in characters that nobody sees.",
    "variation selector": "Bytes can be hidden behind a character, for an agent to read.",
    "zero-width character": "It splits or marks words unseen, so that searches and filters miss them.",
}
_HIDDEN, _UNSEEN = "hidden text", "Nobody sees it, and an agent reads it."
_ENCODED, _TWO_ALPHABETS = "encoded instruction", "letters of two alphabets"
_WHY = {sign.kind: sign.why for sign in SIGNS if sign.severity == "warning"} | {
    _ENCODED: "Someone wrote an instruction so that people do not read it and agents do.",
    _TWO_ALPHABETS: "Letters that look alike come from different alphabets: the word is not what it seems to be.",
}


def find_injections(text: str) -> list[InjectionSign]:
    """Return the places in a text that look like attempts to steer agents, in the order of the text.

    A place inside another of the same kind, or inside a warning, is left out.
    """
    found = [*_signs(text), *_find_encoded(text), *_find_hidden(text), *_find_mixed_scripts(text)]
    return _each_place_once(sorted(found, key=lambda one: (one.start, one.severity != "warning", -one.end)))


def find_warnings(text: str) -> list[InjectionSign]:
    """Return the first sign of each kind that hardly ever has an innocent reason."""
    # Backwards, so that of each kind the first one is kept.
    return list({one.kind: one for one in reversed(find_injections(text)) if one.severity == "warning"}.values())[::-1]


def why_of(kind: str) -> str:
    """Return why a kind of warning matters; empty for one that is not known."""
    if kind.startswith(_HIDDEN):
        return _HIDDEN_WHY.get(kind.removeprefix(_HIDDEN).strip(" ()"), _UNSEEN)
    return _WHY.get(kind, "")


def has_warnings(text: str) -> bool:
    """Return whether a text has a sign that hardly ever has an innocent reason.

    A process remembers that of the texts it met, by their digests: fifty long comments are read by every agent that
    looks at their entry, and would cost 40 ms each time.
    """
    digest = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
    known = _warned.get(digest)
    if known is None:
        if len(_warned) >= MOST_REMEMBERED:
            _warned.clear()
        known = _warned[digest] = bool(find_warnings(text))
    return known


MOST_REMEMBERED = 10_000
"""A megabyte and a half."""
_warned: dict[bytes, bool] = {}


def _signs(text: str) -> Iterator[InjectionSign]:
    lowered = _lower(text)
    for sign in SIGNS:
        for needles, pattern in sign.patterns:
            for needle in needles:
                if needle in lowered:
                    for match in pattern.finditer(text):
                        yield InjectionSign(sign.kind, match.start(), match.end(), sign.why, sign.severity)
                    break
    yield from _find_sent_away(text, lowered)


def _lower(text: str) -> str:
    """Return a text in lower case as patterns compare letters: for them a long s is an s, and an i without dot an i."""
    return text.lower() if text.isascii() else text.translate(_SAME_LETTERS).lower()


_SAME_LETTERS = str.maketrans("İıſ", "iis")
_SEND = _compile(r"\b(?:send|post|upload|forward|exfiltrate|leak|transmit|e-?mail|submit|copy|append|encode)\b")
_SENT = _compile(rf"(?=[acemopst.])({_KNOWN})\b")
_AWAY = _compile(r"(?=(https?://|\bto\s\S{1,64}@|webhook|pastebin|ngrok|attacker))")
_STOP = re.compile(r"[.\n]")
_AWAY_NEEDLES = ("://", "@", "webhook", "pastebin", "ngrok", "attacker")
_SEND_CHARS, _SENT_CHARS = 80, 60
"""How far what is sent may stand behind the word for it, and the address behind what is sent; in one sentence."""


def _find_sent_away(text: str, lowered: str) -> Iterator[InjectionSign]:
    """Find “send the conversation to https://…”: three words with gaps between them, each looked for once.

    One pattern for all three would look through both gaps behind each “send”.
    """
    if not any(needle in lowered for needle in _AWAY_NEEDLES):
        return
    aways = [match.span(1) for match in _AWAY.finditer(text)]
    stops = [match.start() for match in _STOP.finditer(text)] if aways else []
    sent = _pair_up((match.span(1) for match in _SENT.finditer(text)) if aways else (), aways, stops, _SENT_CHARS)
    verbs = (match.span() for match in _SEND.finditer(text)) if sent else ()
    for start, end in _pair_up(verbs, sent, stops, _SEND_CHARS):
        yield InjectionSign(_SENT_AWAY, start, end, _SENT_AWAY_WHY, "warning")


def _pair_up(
    spans: Iterable[tuple[int, int]], others: Sequence[tuple[int, int]], stops: Sequence[int], most: int
) -> list[tuple[int, int]]:
    """Return the spans behind which another one begins soon, in the same sentence, each up to the end of that."""
    found = []
    for start, end in spans:
        place = bisect_left(others, (end, 0))
        if place < len(others) and others[place][0] - end <= most:
            stop = bisect_left(stops, end)
            if stop == len(stops) or stops[stop] >= others[place][0]:
                found.append((start, others[place][1]))
    return found


def _each_place_once(found: list[InjectionSign]) -> list[InjectionSign]:
    """Leave out places inside another of the same kind or of greater severity."""
    kept: list[InjectionSign] = []
    for one in found:
        # The last eight are enough, and keep a text that is full of signs from taking quadratic time.
        around = [each for each in kept[-8:] if each.start <= one.start and one.end <= each.end]
        if not any(each.kind == one.kind or each.severity == "warning" for each in around):
            kept.append(one)
    return kept


def _find_encoded(text: str) -> Iterator[InjectionSign]:
    """Find instructions in base64: nobody encodes a sentence for agents by accident."""
    for match in _BASE64.finditer(text):
        decoded = _decode(match[0][:_BLOB_CHARS])
        if any(one.severity == "warning" or one.kind == "order to an agent" for one in _signs(decoded)):
            yield InjectionSign(_ENCODED, match.start(), match.end(), _WHY[_ENCODED], "warning")


def _decode(blob: str) -> str:
    whole = blob.rstrip("=")
    try:
        text = b64decode(whole + "=" * (-len(whole) % 4)).decode()
    except (Base64Error, UnicodeDecodeError):
        return ""
    return text if text.isprintable() or "\n" in text else ""


def _find_hidden(text: str) -> Iterator[InjectionSign]:
    for kind, start, end in find_hidden_spans(text):
        yield InjectionSign(f"{_HIDDEN} ({kind})", start, end, _HIDDEN_WHY.get(kind, _UNSEEN), "warning")


def _find_mixed_scripts(text: str) -> Iterator[InjectionSign]:
    """Find words that mix Latin with look-alikes, such as a Cyrillic letter in the name of a bank."""
    if text.isascii():
        return
    for match in _WORD.finditer(text):
        if not match[0].isascii() and _looks_latin(match[0]):
            yield InjectionSign(_TWO_ALPHABETS, match.start(), match.end(), _WHY[_TWO_ALPHABETS], "warning")


_LOOK_ALIKE = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "MATHEMATICAL", "FULLWIDTH"}


def _looks_latin(word: str) -> bool:
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return "LATIN" in scripts and bool(scripts & _LOOK_ALIKE)
