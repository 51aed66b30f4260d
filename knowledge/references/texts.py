"""The texts of references: from a draft to the stored text, and the names and passage that find them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from bigmind.core.limits import CONTENT_BYTES, TAG_CHARS, TITLE_CHARS
from bigmind.database.columns import ColumnCopy
from bigmind.privacy.screening import find_secrets, redact
from bigmind.text.hygiene import REFUSED, one_line
from knowledge.models import Reference, ReferenceName, ReferenceType
from knowledge.models.references import NAME_CHARS
from knowledge.references.readers.reference_drafts import ReferenceDraft
from knowledge.search.typed_names import path_form, request_in, spell

_OF_THE_STORE = "It is of the store, and no part of the text."
COLUMNS = ColumnCopy(
    "the text of a reference",
    Reference,
    {
        "id": _OF_THE_STORE,
        "collection": "A text stands in its collection.",
        "key": "It names the reference, whatever the text says.",
        "origin": "It names the import that brought the text.",
        "digest": "It follows from the text as it was generated.",
        "signs": _OF_THE_STORE,
        "generated": "It is another text: the one that a person changed.",
        "edited_at": _OF_THE_STORE,
        "edited_by": _OF_THE_STORE,
        "removed_at": _OF_THE_STORE,
        "created_at": _OF_THE_STORE,
        "updated_at": _OF_THE_STORE,
    },
)
FIELDS = COLUMNS.names()
"""The fields of a reference's text; a version and a draft have the same."""
PROVENANCE = frozenset({"source", "version"})
"""Left out of the digest: a text that only moved to another line has not changed."""
FORM_BYTES = 128 * 1024
EXAMPLES = 50
NAMES = 100
PLAIN_VERBS = frozenset(
    """add approve archive assign cancel change check clear close copy count create delete describe destroy
    disable display download drop edit enable export fetch find get import invite list make modify move new
    open print read refresh remove rename reset restart restore retrieve revoke run search send set show
    start stop suspend sync test update upload view write""".split()  # noqa: SIM905 (reads better)
)
"""Verbs that begin commands and questions alike. A collection whose commands all begin with one has no program."""
CUT = "\n\n… (cut here: the source says more)"

Text = dict[str, Any]


def text_of_draft(draft: ReferenceDraft) -> Text:
    """Return the text of a draft as it was generated; `fit_to_store` makes it storable."""
    return {
        "kind": draft.kind.value,
        "title": one_line(draft.title)[:TITLE_CHARS] or draft.key[:TITLE_CHARS],
        "category": one_line(draft.category)[:TAG_CHARS],
        "subcategory": one_line(draft.subcategory)[:TAG_CHARS],
        "name": one_line(draft.name or (draft.command.name if draft.command else ""))[:NAME_CHARS],
        "aliases": _names(draft.aliases, NAME_CHARS),
        "keywords": _names(draft.keywords, TAG_CHARS),
        "summary": draft.summary,
        "content": draft.content,
        "examples": [example.model_dump() for example in draft.examples[:EXAMPLES]],
        "related": _names(draft.related, NAME_CHARS),
        "source": one_line(draft.source)[:500],
        "version": one_line(draft.version)[:TAG_CHARS],
        "form": form_of(draft),
    }


def form_of(draft: ReferenceDraft) -> dict[str, Any] | None:
    """Return how a draft's command or endpoint is called, as it is stored."""
    form = draft.command or draft.endpoint
    return form.model_dump(mode="json") if form else None


def digest_of(text: Text) -> str:
    """Return a digest of a text that does not depend on where it was read."""
    content = {name: text[name] for name in FIELDS if name not in PROVENANCE}
    # Half a surrogate pair is removed later, and only from what is stored, so it must not break the digest.
    whole = json.dumps(content, sort_keys=True, ensure_ascii=False).encode(errors="surrogatepass")
    return sha256(whole).hexdigest()


def text_of(reference: Reference) -> Text:
    """Return the current text of a reference."""
    return {name: getattr(reference, name) for name in FIELDS}


def write_text(reference: Reference, text: Mapping[str, Any]) -> None:
    """Set the text of a reference. The caller saves it, and rebuilds its passages and names."""
    for name in FIELDS:
        if name in text:
            setattr(reference, name, text[name])


def passage_of(reference: Reference) -> str:
    """Return the text that a search finds a reference by: its names, keywords, summary and content.

    A group of commands is found by its names alone: its content lists all its commands, and would outrank each of them.
    """
    called = [reference.title, reference.name, ", ".join(reference.aliases), ", ".join(reference.keywords)]
    if (reference.form or {}).get("is_group"):
        return "\n".join(part for part in called if part)
    return "\n".join(part for part in (*called, reference.summary, "", reference.content) if part)


def names_of(reference: Reference, *, base_path: str) -> Iterator[ReferenceName]:
    """Yield the names a reference is looked up by. A path is found with and without the base paths of its servers."""
    sort = ReferenceName.Sort
    if reference.kind == ReferenceType.API:
        yield from _paths(reference, base_path)
    operation = (reference.form or {}).get("operation_id", "")
    names = [(sort.NAME, reference.name), (sort.KEY, reference.key), (sort.TITLE, reference.title)]
    names += [(sort.ALIAS, alias) for alias in (*reference.aliases, operation)]
    seen: set[str] = set()
    for which, name in names:
        lookup = spell(name)
        if lookup and lookup not in seen:
            seen.add(lookup)
            yield ReferenceName(reference=reference, sort=which, said=name[:NAME_CHARS], lookup=lookup)


def program_of(names: Iterable[str]) -> str:
    """Return the word that all commands begin with, or nothing if they differ or it is a plain verb.

    `list users` and `list groups` do not make `list` a program, unless `list` is a command itself.
    """
    words = [name.split() for name in names if name]
    first = {parts[0] for parts in words}
    if len(first) != 1 or not any(len(parts) > 1 for parts in words):
        return ""
    program = first.pop()
    return program if program.casefold() not in PLAIN_VERBS or [program] in words else ""


def path_of(reference: Reference | Mapping[str, Any]) -> str:
    """Return the path of an endpoint as its source writes it; nothing where it says none."""
    text = reference if isinstance(reference, Mapping) else text_of(reference)
    named = request_in(text["name"])
    return str((text["form"] or {}).get("path") or (named.path if named else ""))


def _paths(reference: Reference, base_path: str) -> Iterator[ReferenceName]:
    request, path = request_in(reference.name), path_of(reference)
    if not path:
        return
    method = (reference.method or (request.method if request else "")).upper()
    whole = path_form(path)
    bases = [path_form(base) for base in (*(reference.form or {}).get("bases", ()), base_path) if base]
    bare = next((whole.removeprefix(base) for base in bases if whole.startswith(f"{base}/")), whole)
    forms = dict.fromkeys((whole, bare, *(f"{base}{bare}" for base in bases if base != "/")), path)
    for form, written in forms.items():
        yield ReferenceName(
            reference=reference,
            sort=ReferenceName.Sort.PATH,
            said=f"{method} {written}".strip()[:NAME_CHARS],
            lookup=form,
            method=method,
        )


def _names(names: Sequence[str], chars: int) -> list[str]:
    return list(dict.fromkeys(name for one in names[:NAMES] if (name := one_line(one)[:chars])))


def fit_to_store(text: Text) -> tuple[Text, list[str]]:
    """Return a text without control characters, secrets and excess length, and notes on what was removed."""
    notes = []
    # Forms repeat the same few strings over and over; screening each only once takes a tenth of the time.
    whole = "\n".join(dict.fromkeys(_strings(text)))
    if REFUSED.search(whole):
        text = _map_texts(text, lambda part: REFUSED.sub("", part))
        notes.append("control characters were taken out")
    if kinds := list(dict.fromkeys(secret.kind for secret in find_secrets(whole))):
        text = _map_texts(text, redact)
        notes.append(f"what looks like a secret was taken out ({', '.join(kinds[:5])})")
    for name in ("summary", "content"):
        if len(text[name].encode()) > CONTENT_BYTES:
            cut = text[name].encode()[: CONTENT_BYTES - 100].decode(errors="ignore")  # Leaves room for CUT.
            text[name] = cut[: cut.rfind("\n") + 1 or len(cut)].rstrip() + CUT
            notes.append(f"its {name} was longer than {CONTENT_BYTES:,} bytes and was cut")
    if text["form"] and len(json.dumps(text["form"])) > FORM_BYTES:
        bare = {name: value for name, value in text["form"].items() if name not in {"responses", "body"}}
        # gpg has 338 options: which there are is compared, what each does stands in the content.
        bare["options"] = [{**option, "description": ""} for option in bare.get("options", [])]
        text["form"] = bare if len(json.dumps(bare)) <= FORM_BYTES else None
        notes.append("the schemas and descriptions of its form were too large to keep")
    return text, notes


def _strings(value: Any) -> list[str]:
    found: list[str] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, Mapping):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            waiting += one
    return found


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(name)): _map_texts(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_map_texts(one, change) for one in value]
    return value
