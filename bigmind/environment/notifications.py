"""How others hear of what happened: by webhook and by e-mail."""

import base64
from typing import Self
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

from bigmind.environment.addresses import WebAddress


class NotificationSettings(BaseModel):
    """How others hear of what happened."""

    webhook_url: WebAddress = Field(
        default="",
        description="Address that receives every decision about company knowledge, signed according to Standard "
        "Webhooks. Addresses in private networks are refused.",
    )
    webhook_secret: SecretStr = Field(
        default=SecretStr(""),
        description="Signs what is sent to BIGMIND_WEBHOOK_URL: `whsec_` followed by base64, or any text.",
    )
    webhook_private: bool = Field(default=False, description="Allow BIGMIND_WEBHOOK_URL to be in a private network.")
    email_url: SecretStr = Field(
        default=SecretStr(""),
        description="Mail server, e.g. `smtp://user:password@mail.example.com:587` (STARTTLS) or `smtps://…:465`. "
        "Default: no e-mail is sent.",
    )
    email_from: str = Field(
        default="", description="Sender of e-mail. Default: `bigmind@` followed by the public host."
    )

    @field_validator("webhook_secret")
    @classmethod
    def signing_secret(cls, secret: SecretStr) -> SecretStr:
        """Refuse a secret that says it is base64 and is not: nothing could be signed with it."""
        text = secret.get_secret_value()
        encoded = text.removeprefix("whsec_")
        if encoded != text:
            try:
                key = base64.b64decode(encoded, validate=True)
            except ValueError:
                key = b""
            if not key:
                raise ValueError("must have base64 after `whsec_`; leave out `whsec_` to sign with the text itself")
        return secret

    @model_validator(mode="after")
    def require_signature(self) -> Self:
        """Refuse a webhook whose messages nobody could trust."""
        if self.webhook_url and not self.webhook_secret.get_secret_value():
            raise ValueError("BIGMIND_WEBHOOK_URL needs BIGMIND_WEBHOOK_SECRET, which signs what is sent")
        return self

    @property
    def mail_server(self) -> SplitResult:
        """The parts of the mail server's address; without a host no mail is sent."""
        return urlsplit(self.email_url.get_secret_value())
