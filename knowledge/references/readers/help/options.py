"""Rows of options in a help text: `-o, --output FORMAT   What it does. [default: json]`."""

import re

from knowledge.references.readers.drafts import Option
from knowledge.references.readers.help.usage import choices_in

_ROW = re.compile(r"--?[A-Za-z0-9?@#:\[]")
_FORM = re.compile(r"(?P<name>--?(?:\[no-\])?[A-Za-z0-9?@#:][\w.-]*)(?P<rest>.*)", re.DOTALL)
_DEFAULT = re.compile(
    r"[\[(]default(?:s to)?[:=]?\s*(?:is\s+)?(?P<value>\"[^\"]{0,500}\"|[^\])]{0,500})[\])]"
    r"|\bdefault: (?P<bare>[^\s)\]]+)[)\]]?$",
    re.I,
)
_VALUES = re.compile(r"(?:possible values|choices|one of|values)[:=]\s*[\[(]?(?P<values>[^\])]*)[\])]?", re.I)
_BULLETS = re.compile(r"Possible values:(?P<bullets>\s+- .*)", re.I | re.DOTALL)
_OPTIONAL = re.compile(r"\s*\[=?([^\[\]]*)\]")
_REQUIRED = re.compile(r"[\[(]required[\])]", re.I)


def is_option_row(bare: str) -> bool:
    """Say whether a line begins as the row of an option does."""
    return bool(_ROW.match(bare))


def option_of(term: str, text: str) -> Option | None:
    """Return the option that a row is about; nothing when the row only looks like one."""
    forms = [
        match
        for part in re.split(r",\s+|(?<!\s)\s+/\s+|,(?=-)|\s(?=--?[A-Za-z])|\|(?=-)", term)
        if (match := _FORM.match(part))
    ]
    if not forms:
        return None
    longest = max(forms, key=lambda form: len(form["name"]))
    value = next((form["rest"].strip() for form in reversed(forms) if form["rest"].strip()), "")
    # kubectl shows the default in the place of the value: `--all=false:`.
    shows_default = value.startswith("=") and value.endswith(":")
    default = value[1:-1].strip("'\"") if shows_default else _default_in(text)
    stand_in = "" if shows_default else value.removeprefix("...").lstrip("= ").rstrip(":").strip()
    optional = _OPTIONAL.fullmatch(value)
    short = next((form["name"] for form in forms if form is not longest and len(form["name"]) <= 3), "")
    return Option(
        name=longest["name"].replace("[no-]", "").rstrip("."),
        short=short,
        value=f"[{optional[1]}]" if optional else stand_in,
        values=choices_in(stand_in) or _values_in(text),
        description=text,
        required=bool(_REQUIRED.search(text)),
        default=default,
        others=_others([form["name"] for form in forms], longest["name"], short),
    )


def _others(forms: list[str], name: str, short: str) -> tuple[str, ...]:
    """Return the forms besides name and short, and the one that says no."""
    negated = [form.replace("[no-]", "no-") for form in forms if "[no-]" in form]
    others = [form for form in forms if form not in (name, short) and "[no-]" not in form]
    return tuple(dict.fromkeys([*others, *negated]))


def _default_in(text: str) -> str:
    found = _DEFAULT.search(text)
    return (found["value"] or found["bare"] or "").strip(" \"'") if found else ""


def _values_in(text: str) -> tuple[str, ...]:
    if bullets := _BULLETS.search(text):
        return tuple(re.findall(r"(?:^|\s)- ([\w.-]+)(?=:|\s+-|\s*$)", bullets["bullets"]))
    found = _VALUES.search(text)
    parts = [part.strip(" \"'") for part in re.split(r"[,|]", found["values"])] if found else []
    return tuple(part for part in parts if re.fullmatch(r"[\w./+-]+", part))
