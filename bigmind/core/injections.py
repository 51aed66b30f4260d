"""Prompt injections: finds suspicious places in a text, for the curator who decides whether agents may see it."""

import re
import unicodedata
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from bigmind.core.text import find_hidden_spans

Severity = Literal["notice", "warning"]


@dataclass(frozen=True)
class Sign:
    """What suspicious texts have in common: patterns, what they are signs of, and why that matters."""

    kind: str
    why: str
    severity: Severity
    patterns: tuple[re.Pattern[str], ...]


def _sign(kind: str, why: str, severity: Severity, *patterns: str) -> Sign:
    return Sign(kind, why, severity, tuple(re.compile(each, re.IGNORECASE | re.MULTILINE) for each in patterns))


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

SIGNS = (
    _sign(
        "order to forget instructions",
        "It tells an agent to ignore the instructions of its user and its maker.",
        "warning",
        rf"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?"
        rf"|discard)\s{{1,3}}(?:\w{{1,12}}\s{{1,3}}){{0,3}}?"
        rf"{_EARLIER}\s{{1,3}}(?:[\w’']{{1,12}}\s{{1,3}}){{0,4}}?{_ORDERS}\b",
        r"\b(?:ignorier\w{0,3}|vergiss|missachte)\s[^.\n]{0,40}(?:anweisung|regel|vorgabe)\w{0,3}",
        r"\b(?:ignora|olvida|ignorez|oublie[zr]?)\s[^.\n]{0,40}(?:instruc\w{2,8}|consignes|reglas)",
        r"(?:忽略|无视|忘记)[^。\n]{0,12}(?:指令|指示|规则|提示)|以前の指示を無視|игнорируй\w{0,3}\s[^.\n]{0,30}инструкц",
        rf"\bfrom now on,?\s{{1,3}}(?:you\b|{_MODEL}\b|ignore|respond|answer|reply|act)",
        r"\b(?:new|updated|real|actual|secret|hidden)\s(?:system\s)?(?:instructions?|prompt|directives?)\s?:",
        r"\b(?:end|start|begin\w{0,4})\s(?:of\s)?(?:the\s)?(?:system|developer)\s?(?:prompt|message|instructions)\b",
    ),
    _sign(
        "change of role",
        "It tells an agent to be someone else, or to work without its limits.",
        "warning",
        r"\byou\s(?:are|'re)\s(?:now|no longer|henceforth)\s(?:an?\s|the\s|in\s|my\s|bound\s|dan\b|free|unrestricted)",
        r"\byou must now\b",
        r"\b(?:pretend|roleplay|act)\s(?:to be|that you|as if you|as)\s(?:\w{1,12}\s){0,4}?"
        r"(?:unrestricted|jailbr\w{0,8}|dan|no\s(?:rules|limits|restrictions)|without\s(?:rules|limits"
        r"|restrictions))\b",
        r"\b(?:developer|debug|god|dan|jailbreak|sudo)\smode\s(?:is\s)?(?:now\s)?(?:enabled|activated|unlocked)\b",
        r"\b(?:disable|turn off|remove|without)\s(?:all\s|your\s|any\s)(?:safety|guardrails?|content polic"
        r"|safeguards?|ethic)",
    ),
    _sign(
        "order to keep something from the user",
        "Nothing that a company wants its agents to know has to be kept from their users.",
        "warning",
        rf"\b(?:do\s?n[o']t|don’t|do not|never|must not"
        rf"|without)\s(?:ever\s)?{_TELL}\s(?:\w{{1,12}}\s){{0,6}}?{_PEOPLE}\b",
        r"\b(?:keep|hide|conceal)\s(?:this|it|that|these|them)\s(?:\w{1,12}\s){0,4}?(?:secret|hidden"
        r"|from\s(?:the\s)?user)\b",
        r"\b(?:silently|secretly|covertly)\s(?:send|run|execute|upload|post|forward|add|include|call|delete"
        r"|install|copy|approve)\b",
        r"\bwithout\s(?:the\s)?(?:user'?s?|human'?s?)\s(?:knowledge|noticing|consent|permission|approval"
        r"|confirmation)\b",
    ),
    _sign(
        "marker of another speaker",
        "Models use such markers to tell who speaks: the text could pass for a message of the system or the user.",
        "warning",
        r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|end|start_header_id|end_header_id|eot_id"
        r"|begin_of_text|channel|message)[^|<>\n]{0,20}\|>",
        r"\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>",
        r"</?(?:system|assistant|instructions?|system[-_](?:prompt|reminder|message|note))(?:\s[^<>\n]{0,80})?>",
        r"^[ \t>*#_-]{0,8}(?:system|assistant|developer)(?:\s(?:prompt|message|instructions?|override"
        r"|note))?[*_]{0,2}[ \t]?:"
        r"[*_]{0,2}\s{1,3}(?:you\b|ignore|from now|always|never|do not|don't|the user|new|important|override"
        r"|please|must|execute|call|run)",
        r"\"role\"\s{0,3}:\s{0,3}\"(?:system|assistant|developer|tool)\"",
    ),
    _sign(
        "marker of another speaker",
        "A line that begins so could pass for what someone else has said.",
        "notice",
        r"^[ \t>*#_-]{0,8}(?:system|assistant|developer|human|user)(?:\s(?:prompt|message"
        r"|instructions?))?[*_]{0,2}[ \t]?:[*_]{0,2}(?=\s|$)",
    ),
    _sign(
        "imitated tool call",
        "It looks like a call of a tool or the result of one, which an agent or its client could take for real.",
        "warning",
        r"</?(?:\w{1,12}:)?(?:function_calls?|function_results?|invoke|tool_(?:call|use|result"
        r"|response)s?)\b[^<>\n]{0,80}>",
        r"\"(?:tool_calls?|tool_use|function_call|tool_use_id|tool_call_id)\"|\"method\"\s{0,3}:\s{0,3}\"tools/call\"",
        r"\[TOOL_CALLS?\]|<\|python_tag\|>|<\|tool[^|<>\n]{0,20}\|>",
    ),
    _sign(
        "order to send something away",
        "It tells an agent to hand over what it knows, which is how memories and secrets leave a company.",
        "warning",
        rf"\b(?:send|post|upload|forward|exfiltrate|leak|transmit|e-?mail|submit|copy|append|encode)\b[^.\n]{{0,80}}?"
        rf"(?=[acemopst.]){_KNOWN}\b[^.\n]{{0,60}}?(?:https?://|\bto\s\S{{1,64}}@|webhook|pastebin|ngrok|attacker)",
        r"\b(?:reveal|print|repeat|output|show|display|dump|leak)\s(?:\w{1,12}\s){0,4}?(?:system prompt"
        r"|(?:hidden|initial) instructions)\b",
        r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]{1,200}[?&][^)\s=]{0,30}=(?:\{|<|%7B|\$|\[)[^)\s]{0,200}\)",
        r"!\[[^\]\n]{0,100}\]\(https?://[^)\s]{1,200}[?&](?:data|secret|token|context|history|memory|leak"
        r"|exfil)=[^)\s]{0,200}\)",
        r"https?://(?:[\w-]{1,60}\.)?(?:webhook\.site|requestbin\.\w{2,4}|ngrok(?:-free)?\.(?:io|app)|pipedream\.net"
        r"|interact\.sh|oast\.\w{2,6}|burpcollaborator\.net|requestcatcher\.com|beeceptor\.com)\b",
    ),
    _sign(
        "heading that imitates BigMind",
        "BigMind's own context has such headings and handles: the text could pass for knowledge that people approved.",
        "warning",
        r"^[ \t>]{0,4}#{1,6}[^\n]{0,12}(?:BigMind Context|Company (?:knowledge|brain)|Tier[ -]G|Stored facts"
        r"|Pinned facts"
        r"|Recent sessions|Who you are|Open hypotheses)\b",
        r"^[ \t>]{0,4}#{1,6}\s{0,3}[🧠🌐👤📌📅🗂]",
        r"^[ \t>]{0,4}(?:[-*+]\s{1,3})?[*_]{0,2}\[C\d{1,7}\]|_Recalled from what this user",
        r"^[ \t]{0,3}(?:`{3,}+|~{3,}+)[^\n`]{0,80}(?:approved|verified|bigmind)",
    ),
    _sign(
        "handle of a company entry",
        "It names an entry as BigMind does. Look whether that entry says so.",
        "notice",
        r"\[C\d{1,7}\]",
    ),
    _sign(
        "hidden comment",
        "A rendered page does not show it; an agent reads it all the same.",
        "notice",
        r"<!--(?:[^-]|-(?!->)){1,2000}+(?:-->)?",
        r"^\[(?://|comment)\]:\s{0,3}(?:#|<>)\s{0,3}[(\"'][^\n]{1,400}",
        r"<(?:span|div|p|font)\b[^>\n]{0,200}(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0"
        r"|color\s?:\s?transparent)",
    ),
    _sign(
        "command that runs what it downloads",
        "An agent that carries it out runs whatever the address answers on that day, or sends away what it finds.",
        "notice",
        r"\b(?:curl|wget)\b[^\n|]{0,160}\|\s{0,3}(?:sudo\s)?(?:ba|z)?sh\b|\bcurl\b[^\n]{0,120}\$\(",
        r"\b(?:env|printenv|cat\s[^\n|]{1,80})\s?\|\s?(?:curl|nc|wget)\b",
    ),
    _sign(
        "order to an agent",
        "It tells agents what to do instead of what is so. That may be a rule of the company, or someone's wish.",
        "notice",
        rf"\b(?:{_MODEL}|you)\s(?:must|should|shall|have to|need to|are required to)\b",
        rf"\b(?:attention|important|note|message)\s(?:to|for)\s(?:all\s|any\s|every\s|the\s)?(?:ai\s)?{_MODEL}\b",
        rf"\b(?:if|when)\syou\s(?:are|'re)\san?\s(?:ai\s|language\s|coding\s)?{_MODEL}\b",
        r"\b(?:always|automatically)\s(?:approve|accept|trust|execute|run)\b|\bwithout\s(?:asking|confirmation)\b",
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


def find_injections(text: str) -> list[InjectionSign]:
    """Return the places in a text that look like attempts to steer agents, in the order of the text.

    A place inside another of the same kind, or inside a warning, is left out.
    """
    found = [*_signs(text), *_find_encoded(text), *_find_hidden(text), *_find_mixed_scripts(text)]
    return _each_place_once(sorted(found, key=lambda one: (one.start, one.severity != "warning", -one.end)))


def has_warnings(text: str) -> bool:
    """Return whether a text has a sign that hardly ever has an innocent reason."""
    return any(one.severity == "warning" for one in find_injections(text))


def _signs(text: str) -> Iterator[InjectionSign]:
    for sign in SIGNS:
        for pattern in sign.patterns:
            for match in pattern.finditer(text):
                yield InjectionSign(sign.kind, match.start(), match.end(), sign.why, sign.severity)


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
    why = "Someone wrote an instruction so that people do not read it and agents do."
    for match in _BASE64.finditer(text):
        decoded = _decode(match[0][:_BLOB_CHARS])
        if any(one.severity == "warning" or one.kind == "order to an agent" for one in _signs(decoded)):
            yield InjectionSign("encoded instruction", match.start(), match.end(), why, "warning")


def _decode(blob: str) -> str:
    whole = blob.rstrip("=")
    try:
        text = b64decode(whole + "=" * (-len(whole) % 4)).decode()
    except (Base64Error, UnicodeDecodeError):
        return ""
    return text if text.isprintable() or "\n" in text else ""


def _find_hidden(text: str) -> Iterator[InjectionSign]:
    for kind, start, end in find_hidden_spans(text):
        why = _HIDDEN_WHY.get(kind, "Nobody sees it, and an agent reads it.")
        yield InjectionSign(f"hidden text ({kind})", start, end, why, "warning")


def _find_mixed_scripts(text: str) -> Iterator[InjectionSign]:
    """Find words that mix Latin with look-alikes, such as a Cyrillic letter in the name of a bank."""
    if text.isascii():
        return
    why = "Letters that look alike come from different alphabets: the word is not the one that it seems to be."
    for match in _WORD.finditer(text):
        if not match[0].isascii() and _looks_latin(match[0]):
            yield InjectionSign("letters of two alphabets", match.start(), match.end(), why, "warning")


_LOOK_ALIKE = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "MATHEMATICAL", "FULLWIDTH"}


def _looks_latin(word: str) -> bool:
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return "LATIN" in scripts and bool(scripts & _LOOK_ALIKE)
