"""Arguments that recur in the operations about people."""

from typing import Annotated

from pydantic import AfterValidator, Field

from bigmind.core.argument_types import Lines, LongText
from bigmind.privacy.screening.policy import Screened
from bigmind.text.hygiene import clean_name

JobTitle = Annotated[
    str, Field(max_length=500, description="Job title or engineering role."), AfterValidator(clean_name), Screened
]
Preferences = Annotated[LongText, Field(description="How the user likes to work, in markdown.")]
PinnedFacts = Annotated[Lines, Field(description="Facts every session must know, one sentence each.")]
