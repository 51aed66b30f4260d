"""Signs of injections: instructions, other people's voices, forged headings, hidden comments.

Every repetition has an upper bound or gives nothing back, so that time grows with the length of a text.
"""

import re
from dataclasses import dataclass
from typing import Literal

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
