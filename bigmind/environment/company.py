"""The company's BigMind, for one on someone's own machine."""

from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from bigmind.environment.addresses import is_this_machine, refuse_unusable_port
from bigmind.environment.instance import InstanceSettings
from bigmind.text.key_text import is_well_formed


class Company(InstanceSettings):
    """The company's BigMind, and what this one is called there."""

    company_url: str = Field(
        default="",
        description="The company's BigMind, e.g. `https://bigmind.example.com`: this one registers there, sends it "
        "proposals and reads what the company knows (docs/instances.md). Only in `personal` mode, because the key is "
        "one person's. Default: none, and nothing leaves this machine.",
    )
    company_key: SecretStr = Field(
        default=SecretStr(""), description="Your key at BIGMIND_COMPANY_URL, with the scopes `read` and `write`."
    )
    company_plain_http: bool = Field(
        default=False,
        description="Allow BIGMIND_COMPANY_URL to be http in a private network, where others could read the key in "
        "transit. On this machine http is always allowed, to public addresses never.",
    )
    instance_name: str = Field(
        default="",
        max_length=100,
        description="Name of this BigMind at the company. Default: the host's name.",
    )

    @field_validator("company_url")
    @classmethod
    def company_origin(cls, url: str) -> str:
        """Refuse what is not `scheme://host[:port]`: a name and password in it would be shown wherever it is."""
        parts = urlsplit(url)
        is_origin = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.path in {"", "/"}
        if url and (not is_origin or "@" in parts.netloc or parts.query or parts.fragment):
            raise ValueError("must look like https://bigmind.example.com, without a path, a name or a password")
        refuse_unusable_port(url)
        return url.rstrip("/")

    @field_validator("company_key")
    @classmethod
    def sendable(cls, key: SecretStr) -> SecretStr:
        """Refuse what cannot be a key: it is sent in a header."""
        text = key.get_secret_value()
        if text and not is_well_formed(text):
            raise ValueError("is no key of a BigMind: it begins with bm_ and is shown once, when it is made")
        return key

    @model_validator(mode="after")
    def company_of_one_person(self) -> Self:
        """Refuse a company server that could not be asked, or whose knowledge would be shown to others than its key's.

        Whether a plain address leads where it may is looked at again when it is called.
        """
        if not self.company_url:
            return self
        if not self.company_key.get_secret_value():
            raise ValueError("BIGMIND_COMPANY_URL needs BIGMIND_COMPANY_KEY, a key of yours at that server")
        if self.mode != "personal":
            raise ValueError("BIGMIND_COMPANY_URL belongs to a BigMind of one person: BIGMIND_MODE must be personal")
        if self.company_url == self.url:
            raise ValueError("BIGMIND_COMPANY_URL is the address of this BigMind itself")
        host = urlsplit(self.company_url).hostname or ""
        if self.company_url.startswith("http://") and not (is_this_machine(host) or self.company_plain_http):
            raise ValueError(
                "BIGMIND_COMPANY_URL must be https: others could read the key on its way. In a private network, "
                "BIGMIND_COMPANY_PLAIN_HTTP=true permits http"
            )
        return self
