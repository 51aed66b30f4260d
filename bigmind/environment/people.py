"""Who is here first, and how people sign in: by the company's own provider, with a password, with a second factor."""

from pathlib import Path
from typing import ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator


class FirstUser(BaseModel):
    """The user that the first start makes."""

    readers: ClassVar = ("web",)

    user: str = Field(default="", description="User name of the first user. Default: the name of the system's user.")
    init_user: str = Field(
        default="",
        description="For containers: user name of the first user, instead of BIGMIND_USER. The BIGMIND_INIT_* "
        "settings count only at the first start, while there is no user yet.",
    )
    init_password: SecretStr = Field(
        default=SecretStr(""),
        description="Password of the first user: 12 characters or more. Then no sign-in link is printed in the modes "
        "`team` and `enterprise`.",
    )
    init_password_file: str = Field(
        default="", description="File that holds BIGMIND_INIT_PASSWORD, such as a container secret."
    )
    init_key: SecretStr = Field(
        default=SecretStr(""),
        description="API key of the first user, made with `bigmind key_text`. Then no key is printed.",
    )
    init_key_file: str = Field(default="", description="File that holds BIGMIND_INIT_KEY, such as a container secret.")


class SignInSettings(BaseModel):
    """How people sign in."""

    readers: ClassVar = ("web",)

    oidc_issuer: str = Field(
        default="",
        description="Address of the company's own sign-in (OpenID Connect), e.g. `https://login.example.com/realms/main`."
        " Register `<BIGMIND_PUBLIC_URL>/sign-in/sso/callback/` there as the redirect address.",
    )
    oidc_client_id: str = Field(default="", description="Client ID of this BigMind at the provider.")
    oidc_client_secret: SecretStr = Field(
        default=SecretStr(""), description="Client secret of this BigMind at the provider; none for a public client."
    )
    oidc_client_secret_file: str = Field(
        default="", description="File that holds BIGMIND_OIDC_CLIENT_SECRET, such as a container secret."
    )
    oidc_name: str = Field(
        default="single sign-on", max_length=60, description="What the button on the sign-in page calls the provider."
    )
    oidc_allowed_domains: str = Field(
        default="",
        description="Domains whose verified addresses may sign in, separated by commas. Default: every address the "
        "provider vouches for.",
    )
    oidc_join: Literal["invited", "anybody"] = Field(
        default="invited",
        description="Who may sign in for the first time: people who were `invited` or already have an account, or "
        "`anybody` from BIGMIND_OIDC_ALLOWED_DOMAINS, as a member.",
    )
    oidc_role_claim: str = Field(
        default="",
        description="Claim that lists a person's groups, e.g. `groups`. The groups then set the role at each sign-in.",
    )
    oidc_roles: str = Field(
        default="",
        description="Role of each group, e.g. `brains=curator,chiefs=admin`. Whoever is in none of them is a member.",
    )
    passwords_only_for: str = Field(
        default="",
        description="User name of the one admin who can still sign in with a password when the provider is down; "
        "nobody else can then. Default: everybody may have a password.",
    )
    require_mfa: Literal["nobody", "deciders", "everybody"] = Field(
        default="nobody",
        description="Who must have a second factor: `deciders` are curators and admins. Whoever has none is asked to "
        "set one up after signing in, and can do nothing else in the browser until then. API keys are not affected.",
    )

    @field_validator("oidc_issuer")
    @classmethod
    def safe_issuer(cls, url: str) -> str:
        """Refuse a provider whose answers others could change on the way."""
        parts = urlsplit(url)
        is_local = parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1", "::1"}
        if url and (not parts.hostname or not (parts.scheme == "https" or is_local)):
            raise ValueError("must look like https://login.example.com; without https only on this machine")
        if len(url) > 200:
            raise ValueError(f"must have at most 200 characters; this has {len(url)}")
        return url.rstrip("/")

    @field_validator("oidc_roles")
    @classmethod
    def refuse_unknown_roles(cls, pairs: str) -> str:
        for pair in filter(None, (part.strip() for part in pairs.split(","))):
            group, _, role = pair.rpartition("=")
            if not group or role not in {"member", "curator", "admin"}:
                raise ValueError("must be pairs like chiefs=admin; the roles are member, curator, admin")
        return pairs

    @model_validator(mode="after")
    def complete_sign_in(self) -> Self:
        """Refuse a sign-in by which nobody, or everybody in the world, could come in."""
        if self.oidc_issuer and not self.oidc_client_id:
            raise ValueError("BIGMIND_OIDC_ISSUER needs BIGMIND_OIDC_CLIENT_ID")
        if self.oidc_join == "anybody" and not self.oidc_domains:
            raise ValueError("BIGMIND_OIDC_JOIN=anybody needs BIGMIND_OIDC_ALLOWED_DOMAINS")
        if self.passwords_only_for and not self.oidc_issuer:
            raise ValueError("BIGMIND_PASSWORDS_ONLY_FOR needs BIGMIND_OIDC_ISSUER: nobody else could sign in")
        try:
            if not self.oidc_client_secret.get_secret_value():
                _ = self.oidc_secret
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"BIGMIND_OIDC_CLIENT_SECRET_FILE cannot be read: {error}") from error
        return self

    @property
    def oidc_secret(self) -> str:
        """The secret at the provider, from the variable or from its file."""
        if not self.oidc_client_secret_file:
            return self.oidc_client_secret.get_secret_value()
        return Path(self.oidc_client_secret_file).read_text().strip()

    @property
    def oidc_domains(self) -> tuple[str, ...]:
        """The domains whose people may come in by the provider; none means all."""
        return tuple(name.strip().lower() for name in self.oidc_allowed_domains.split(",") if name.strip())

    @property
    def oidc_role_of_groups(self) -> dict[str, str]:
        """Which group of the provider is which role here."""
        pairs = [part.strip().rpartition("=") for part in self.oidc_roles.split(",") if part.strip()]
        return {group: role for group, _, role in pairs}
