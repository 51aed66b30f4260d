"""Arguments that recur in the operations about what is known."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from bigmind.core.handles import Handle
from bigmind.core.screening.policy import Screened
from bigmind.core.text import clean_name
from bigmind.core.vocabulary import TITLE_CHARS, Content, Lines, LongText, RowId, Tags

CategoryName = Literal["preference", "decision", "codebase", "constraint", "identity"]
FactText = Annotated[Content, Field(description="One atomic truth, in one sentence.", examples=["Prefers pytest."])]
FactId = Annotated[RowId, Handle("fact"), Field(description="The number of the fact.")]
HypothesisText = Annotated[Content, Field(description="“I believe X because Y.”")]
HypothesisId = Annotated[RowId, Handle("hypothesis"), Field(description="The number of the hypothesis.")]
ChunkId = Annotated[RowId, Handle("chunk"), Field(description="The number of the chunk.")]
SessionId = Annotated[
    str,
    Handle("session"),
    Field(
        min_length=8,
        max_length=36,
        pattern=r"^[0-9a-fA-F-]+$",
        description="Default: this conversation's.",
    ),
]
SomeSessionId = Annotated[
    str,
    Handle("session"),
    Field(min_length=8, max_length=36, pattern=r"^[0-9a-fA-F-]+$", description="Its id or first 8 characters."),
]
LATEST = "latest"
ReadSessionId = Annotated[
    str,
    Handle("session"),
    Field(pattern=r"^([0-9a-fA-F-]{8,36}|latest)$", description="Its id, its first 8 characters, or `latest`."),
]
OneLiner = Annotated[
    str,
    Field(max_length=120),
    AfterValidator(clean_name),
    Screened,
    Field(min_length=1, max_length=120, description="Headline, up to 120 characters."),
]
Topics = Annotated[Tags, Field(description="Topic tags.", examples=[["deploys", "postgres"]])]
Outcome = Annotated[LongText, Field(description="One sentence: what was decided or built.")]
SummaryText = Annotated[LongText, Field(description="Narrative in markdown, up to 2,000 tokens.")]
KeyFacts = Annotated[Lines, Field(description="A sentence each.")]
CodeRefs = Annotated[Lines, Field(description="Files, repositories, pull requests.")]
Role = Annotated[Literal["user", "assistant", "system"], Field(description="Who said it.")]
FlagReason = Annotated[LongText, Field(description="Why this exchange matters.")]
Used = Annotated[Tags, Field(description="Handles that helped: C142.", examples=[["C142"]])]
Misleading = Annotated[Tags, Field(description="Handles that misled.")]
Domain = Annotated[
    str,
    Field(max_length=TITLE_CHARS),
    AfterValidator(clean_name),
    Field(min_length=1, max_length=TITLE_CHARS, description="Area, such as email, calendar, general."),
]
Key = Annotated[
    str,
    Field(max_length=TITLE_CHARS),
    AfterValidator(clean_name),
    Field(min_length=1, max_length=TITLE_CHARS, description="Name within the domain, such as dymon-packages."),
]
CompanyCategoryName = Annotated[
    Literal["architecture", "standard", "decision", "pattern", "glossary"], Field(description="What sort it is.")
]
