"""The document of a pack: its schema, how it is read from untrusted bytes, and versions."""

import json
import math
import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from bigmind.core.argument_checks import refusal
from bigmind.core.argument_types import Importance, Moment, Name, Project, SharedLongText, SharedTags
from bigmind.core.errors import Conflict, Invalid
from bigmind.core.screening.policy import NoSecrets
from bigmind.core.signed_documents import SignatureVerdict, check_signature
from bigmind.core.text import echo
from curation.argument_types import CompanyText, CompanyTitle
from curation.models.packs import BEGINNING, NAME_CHARS, SIGNER_CHARS, Pack, PackKey, PackVersion
from curation.services.golden_questions import QuestionText, Within
from knowledge.argument_types import CompanyCategoryName, Triggers
from knowledge.references.arguments import Drafts
from knowledge.references.readers.reference_drafts import ReferenceDraft

FORMAT = "bigmind-pack"
SUFFIX = ".bigmind-pack.json"
PURPOSE = "packs"
MOST_BYTES = 4 * 1024 * 1024
MOST_ENTRIES, MOST_COLLECTIONS, MOST_REFERENCES, MOST_QUESTIONS = 300, 10, 1_000, 100
SLUG_CHARS = 50
DEPTH = 30
"""How deep lists and objects may nest: documentation of endpoints has about ten levels."""
VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})")
PACK_NAME = rf"^[a-z0-9](-?[a-z0-9]){{0,{NAME_CHARS - 1}}}$"
_VERSION_PATTERN = f"^{VERSION.pattern}$"

PackName = Annotated[str, Field(min_length=1, max_length=NAME_CHARS, pattern=PACK_NAME)]
PackVersionName = Annotated[str, Field(max_length=30, pattern=_VERSION_PATTERN)]
LineKey = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._:/-]+$")]
SignerName = Annotated[Name, Field(max_length=SIGNER_CHARS), NoSecrets]
Part = TypeVar("Part", bound=BaseModel)


class _PackPart(BaseModel):
    """The base of the parts: a pack with fields that this version does not know is refused, not half understood."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class PackedEntry(_PackPart):
    """One company entry, without people, evidence and code: those stay with the publisher."""

    key: LineKey
    category: CompanyCategoryName
    title: CompanyTitle
    content: CompanyText
    importance: Importance = 5
    project: Annotated[Project, NoSecrets] = ""
    topics: SharedTags = []
    triggers: Triggers = []


class PackedCollection(_PackPart):
    """Documentation: one collection with its items."""

    slug: Annotated[str, Field(max_length=SLUG_CHARS, pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: Annotated[Name, NoSecrets]
    references: Drafts


class PackedQuestion(_PackPart):
    """A golden question: `finds` is the key of an entry of the pack, or `slug/key` of its documentation."""

    question: QuestionText
    finds: Annotated[str, Field(min_length=1, max_length=600)]
    within: Within = 3


class PackDocument(_PackPart):
    """What is signed."""

    name: PackName
    version: PackVersionName
    title: Annotated[Name, NoSecrets]
    publisher: SignerName
    notes: SharedLongText = ""
    published_at: Moment
    entries: Annotated[list[PackedEntry], Field(max_length=MOST_ENTRIES)] = []
    collections: Annotated[list[PackedCollection], Field(max_length=MOST_COLLECTIONS)] = []
    questions: Annotated[list[PackedQuestion], Field(max_length=MOST_QUESTIONS)] = []

    @model_validator(mode="after")
    def _once_each(self) -> "PackDocument":
        keys = [entry.key for entry in self.entries], [one.slug for one in self.collections]
        if any(len(set(some)) < len(some) for some in keys):
            raise ValueError("names two entries or collections by the same key")
        # Else the second would take the place of the first where someone subscribes to the pack.
        if len({slug_here(self.name, slug) for slug in keys[1]}) < len(keys[1]):
            raise ValueError("has two collections whose names begin alike: make the name of the pack shorter")
        if sum(len(one.references) for one in self.collections) > MOST_REFERENCES:
            raise ValueError(f"has too much documentation; the limit is {MOST_REFERENCES:,} items")
        return self

    @property
    def numbers(self) -> list[int]:
        """The version as numbers."""
        return numbers_of(self.version)

    @property
    def contents(self) -> dict[str, int]:
        """How many entries, references and golden questions it has."""
        references = sum(len(one.references) for one in self.collections)
        return {"entries": len(self.entries), "references": references, "questions": len(self.questions)}


class PackFile(_PackPart):
    """The file around it. What is signed is not looked into before its key is trusted, except for `says`."""

    format: Annotated[Literal["bigmind-pack"], BeforeValidator(str)]
    version: Literal[1]
    signed: dict[str, Any]
    signature: Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]
    public_key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @property
    def says(self) -> tuple[str, list[int]]:
        """The name and the version, as numbers.

        Raises:
            Invalid: it has no such name, or no such version.
        """
        head = _refusing(_PackHead, self.signed)
        return head.name, numbers_of(head.version)


class _PackHead(BaseModel):
    """What is read of a pack to choose among the files of a folder."""

    model_config = ConfigDict(hide_input_in_errors=True)
    name: PackName
    version: PackVersionName


@dataclass(frozen=True)
class SignedPack:
    """A pack with a valid signature: its document as signed and as parsed, the key, and whose that is if not ours."""

    document: PackDocument
    signed: dict[str, Any]
    signature: str
    public_key: str
    signer: str = ""

    def as_bytes(self) -> bytes:
        """Return the file."""
        file = {"format": FORMAT, "version": 1, "signed": self.signed}
        file |= {"signature": self.signature, "public_key": self.public_key}
        return json.dumps(file, indent=1, ensure_ascii=False).encode() + b"\n"


def slug_here(pack: str, slug: str) -> str:
    """Return under which name a collection of a pack stands here: documentation of one's own may have its name."""
    return f"{pack}-{slug}"[:SLUG_CHARS].rstrip("-")


def numbers_of(version: str) -> list[int]:
    """Return a version as numbers, to compare it.

    Raises:
        Invalid: it is no version of three numbers.
    """
    if not VERSION.fullmatch(version):
        raise Invalid.of("version", "must be three numbers as Semantic Versioning has them, such as 1.4.0")
    return [int(number) for number in version.split(".")]


def read_pack(content: bytes) -> SignedPack:
    """Read an untrusted pack: its size, form and signature are checked, then its key, and then every text.

    Raises:
        Conflict: no admin trusts the key.
        Invalid: it is no pack, was changed after it was signed, or holds what company knowledge may not hold.
    """
    file = open_pack(content)
    return parse_pack(file, require_trust(file).signer)


def open_pack(content: bytes) -> PackFile:
    """Return the file of an untrusted pack, if it is word for word what somebody signed.

    Raises:
        Invalid: it is too large, no pack, or was changed after it was signed.
    """
    if len(content) > MOST_BYTES:
        raise Invalid.of(
            "pack", f"is {len(content):,} bytes; the limit is {MOST_BYTES:,}", hint="Ask for smaller ones."
        )
    file = _read_file(content)
    told = {"signed": file.signed, "signature": file.signature, "public_key": file.public_key}
    if check_signature(told, purpose=PURPOSE) is SignatureVerdict.CHANGED:
        hint = "Fetch it again; if that does not help, tell the publisher."
        raise Invalid.of("pack", "is not what was signed: it was changed, or is damaged", hint=hint)
    return file


def parse_pack(file: PackFile, signer: str) -> SignedPack:
    """Return what a trusted signer's pack holds.

    Raises:
        Invalid: it holds what company knowledge may not hold.
    """
    return SignedPack(_refusing(PackDocument, file.signed), file.signed, file.signature, file.public_key, signer)


def document_of(version: PackVersion) -> PackDocument:
    """Return the document of a version that is stored here. It was checked when it came, and is not checked again:

    a text that was removed from everything may have left a mark in it that is longer than the text could be.
    """
    told = version.document
    collections = [
        PackedCollection.model_construct(
            slug=one["slug"],
            title=one["title"],
            references=[ReferenceDraft.model_validate(draft) for draft in one["references"]],
        )
        for one in told.get("collections", [])
    ]
    parts = {
        "entries": [PackedEntry.model_construct(**one) for one in told.get("entries", [])],
        "questions": [PackedQuestion.model_construct(**one) for one in told.get("questions", [])],
        "collections": collections,
    }
    return PackDocument.model_construct(**{**told, **parts})


def require_trust(file: PackFile) -> PackKey:
    """Return whose key signed a pack.

    Raises:
        Conflict: no admin trusts the key.
    """
    key = PackKey.objects.filter(public_key=file.public_key).first()
    if key is not None:
        return key
    publisher = str(file.signed.get("publisher", ""))[:SIGNER_CHARS]
    known = PackKey.objects.filter(signer=publisher).exists()
    says = f"says that it is from {echo(publisher)}" + (", but with another key" if known else "")
    raise Conflict(
        f"No admin trusts the key {file.public_key} that signed this pack. It {says}.",
        hint="Ask the publisher by another way whether the key is theirs; then an admin trusts it on the page “Packs”.",
        public_key=file.public_key,
    )


def provenance_of(pack: Pack, public_key: str) -> str:
    """Return the label of each line from a pack: who signed it, and its name.

    It names no version, so that an update does not touch the lines that it leaves as they are. Decision 66.
    """
    return f"{pack.signer}, pack {pack.name} (key {public_key[:BEGINNING]})"


def _read_file(content: bytes) -> PackFile:
    try:
        told = json.loads(content.decode(), parse_constant=_refuse_constant)
    except (UnicodeDecodeError, ValueError, RecursionError):
        hint = f"A pack is one JSON file, named …{SUFFIX}; archives are not read."
        raise Invalid.of("pack", "is no JSON", hint=hint) from None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise Invalid.of("pack", f"is no knowledge pack: its format is not {FORMAT}")
    _require_storable(told)
    return _refusing(PackFile, told)


def _require_storable(told: Any) -> None:
    """Refuse what nests too deep, and texts and numbers that the database cannot store; without recursion."""
    open_parts = [(told, 1)]
    while open_parts:
        part, depth = open_parts.pop()
        if depth > DEPTH:
            raise Invalid.of("pack", f"has lists and objects in each other more than {DEPTH} deep")
        if (isinstance(part, str) and "\0" in part) or (isinstance(part, float) and not math.isfinite(part)):
            raise Invalid.of("pack", "has a NUL character or a number that is not finite")
        inner = [*part, *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else ()
        open_parts += [(one, depth + 1) for one in inner]


def _refusing(model: type[Part], told: Any) -> Part:
    """Return a part of a pack. What is wrong in it is wrong with the pack."""
    try:
        return model.model_validate(told)
    except ValidationError as error:
        raise Invalid.of("pack", f"is refused: {refusal(error, model).message.rstrip('.')}") from None


def _refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python reads, and which neither JSON nor the database knows."""
    raise ValueError(name)
