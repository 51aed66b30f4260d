"""What holds for everybody here: how much, how soon, and what becomes of secrets."""

from typing import Literal

from pydantic import BaseModel, Field


class Rules(BaseModel):
    """What holds for everybody here."""

    autoopen: bool = Field(default=False, description="Open the sign-in link in the browser when BigMind has started.")
    rate_limit: int = Field(
        default=600,
        ge=0,
        description="Operations a key may perform in a minute, unless it has a limit of its own. 0: no limit.",
    )
    secrets: Literal["warn", "redact", "block"] = Field(
        default="warn",
        description="What becomes of a password, key or token in a personal memory: `warn` stores it and tells the "
        "caller, `redact` stores the text without it, `block` refuses the text. Shared knowledge always refuses it.",
    )
    review_days: int = Field(
        default=3, ge=1, le=365, description="Days after which what waits for a curator is shown as overdue."
    )
