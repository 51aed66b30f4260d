"""Arguments of the operations about references."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, WithJsonSchema

from bigmind.core.argument_types import Name, SharedLongText, SharedTags, Tag
from bigmind.core.handles import Handle
from bigmind.privacy.screening.policy import NoSecrets, refuse_secrets_in_json
from bigmind.text.hygiene import check_content, clean_name
from knowledge.argument_types import Completeness, ReferenceKind
from knowledge.references.readers.commands import name_in
from knowledge.references.readers.reference_drafts import ReferenceDraft

MOST_DRAFTS = 1_000
SLUG_CHARS = 50
ASKED_CHARS = 1_000

ReferenceId = Annotated[UUID, Handle("reference"), Field(description="The reference's id, as a search returned it.")]
CollectionName = Annotated[
    str,
    Field(max_length=SLUG_CHARS, pattern=r"^[a-z0-9][a-z0-9-]*$", description="Only this collection, such as helios."),
]
TypeName = Annotated[
    Literal["all", "command", "api", "guide", "feature", "troubleshooting", "setting"],
    Field(description="Only this type."),
]
SharedName = Annotated[Name, NoSecrets]
CategoryName = Annotated[
    Tag, NoSecrets, Field(description="Only this category or subcategory, such as google-workspace.")
]
CommandText = Annotated[
    str,
    AfterValidator(check_content),
    Field(min_length=1, max_length=ASKED_CHARS, description="The command, such as helios gw users list."),
]
CheckedText = Annotated[
    str,
    AfterValidator(check_content),
    Field(
        min_length=1,
        max_length=ASKED_CHARS,
        description="A command line with its options, or a request such as GET /api/v1/users.",
    ),
]
PathText = Annotated[
    str,
    AfterValidator(check_content),
    Field(min_length=1, max_length=ASKED_CHARS, description="Path, such as /api/v1/users/{id} or /users/123."),
]
MethodName = Annotated[
    Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"],
    BeforeValidator(lambda said: said.strip().upper() if isinstance(said, str) else said),
    Field(description="HTTP method. Default: all methods."),
]


def _as_draft(sent: Any) -> Any:
    """Accept an item as the curated files of the design have it: `id`, `type`, `relatedIds`, `lastUpdated`."""
    if not isinstance(sent, dict):
        return sent
    renamed: dict[str, Any] = {
        _FIELDS.get(str(name), str(name)): value for name, value in sent.items() if name not in _PASSED_OVER
    }
    if not (renamed.get("name") or renamed.get("command") or renamed.get("endpoint")):
        kind, title, content = (str(renamed.get(part) or "") for part in ("kind", "title", "content"))
        renamed["name"] = name_in(kind, title, content, _codes_in(renamed.get("examples")))
    return {name: _unchangeable(value) for name, value in renamed.items()}


def _codes_in(examples: Any) -> list[str]:
    given = examples if isinstance(examples, list) else []
    return [code for each in given if isinstance(each, dict) and isinstance(code := each.get("code"), str)]


def _unchangeable(value: Any) -> Any:
    """Lists as the tuples that drafts have: what came as JSON is checked strictly, and past this point as Python."""
    if isinstance(value, dict):
        return {name: _unchangeable(one) for name, one in value.items()}
    return tuple(_unchangeable(one) for one in value) if isinstance(value, list) else value


_FIELDS = {"id": "key", "type": "kind", "relatedIds": "related"}
_PASSED_OVER = frozenset({"lastUpdated"})
_DRAFTS_DESCRIPTION = (
    "Up to 1,000 items, each with key (or id), kind (or type: command, api, guide, feature, troubleshooting, setting),"
    " title, content in markdown, and where known: name (the exact command, or GET /path), category, subcategory,"
    " summary, keywords, aliases, examples [{description, code, output}], related, source, version, command, endpoint."
)

Drafts = Annotated[
    list[Annotated[ReferenceDraft, BeforeValidator(_as_draft)]],
    Field(max_length=MOST_DRAFTS),
    WithJsonSchema(
        {"type": "array", "items": {"type": "object"}, "maxItems": MOST_DRAFTS, "description": _DRAFTS_DESCRIPTION}
    ),
]


def _words(synonyms: dict[str, list[str]]) -> dict[str, list[str]]:
    check_content(json.dumps(synonyms, ensure_ascii=False))
    if len(synonyms) > 200 or any(len(others) > 50 for others in synonyms.values()):
        raise ValueError("has too many words; the limit is 200 words with 50 synonyms each")
    return {clean_name(word): [clean_name(other) for other in others] for word, others in synonyms.items()}


SynonymTable = Annotated[
    dict[str, list[str]],
    AfterValidator(_words),
    AfterValidator(refuse_secrets_in_json),
    Field(description='Synonyms, in addition to the built-in ones: {"tenant": ["workspace"]}.'),
]
Completenesses = dict[Literal["command", "api"], Literal["complete", "partial", "unknown"]]
_COMPLETENESSES: TypeAdapter[Completenesses] = TypeAdapter(Completenesses)


def plain_completeness(completeness: Mapping[ReferenceKind, Completeness]) -> Completenesses:
    """Return what a generator says of its source in the words that an import takes."""
    return _COMPLETENESSES.validate_python({kind.value: state.value for kind, state in completeness.items()})


Declared = Annotated[
    Completenesses,
    Field(
        description='Whether these are all that the product has: {"command": "complete", "api": "partial"}. Only what a'
        " complete source does not have is answered with “does not exist”."
    ),
]
SourceName = Annotated[SharedLongText, Field(max_length=500, description="What was read: a file, a URL.")]
VersionName = Annotated[Tag, NoSecrets, Field(description="The version of what is described.")]
Aliases = Annotated[SharedTags, Field(description="Other names it is found by.")]
Keywords = Annotated[SharedTags, Field(description="Words it is found by.")]
