"""Every setting BigMind reads from the environment, each with its default and what it means; a module is a topic."""

import os
from difflib import get_close_matches
from functools import lru_cache
from typing import Self

from pydantic import model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from bigmind.environment.company import Company
from bigmind.environment.features import Embedding, Features
from bigmind.environment.instance import Capacity, InstanceSettings, ObservabilitySettings, Rules
from bigmind.environment.notifications import NotificationSettings
from bigmind.environment.people import FirstUser, SignInSettings
from bigmind.environment.storage import BackupSettings, Storage

PREFIX = "BIGMIND_"


# Fields are gathered from the last base to the first: the last one opens the list that people read.
class Environment(
    BaseSettings,
    Features,
    Embedding,
    Capacity,
    Company,
    BackupSettings,
    NotificationSettings,
    Rules,
    ObservabilitySettings,
    Storage,
    FirstUser,
    SignInSettings,
    InstanceSettings,
):
    """The settings of one BigMind instance, read from variables that begin with `BIGMIND_`."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, env_ignore_empty=True, hide_input_in_errors=True
    )

    @model_validator(mode="after")
    def refuse_double_secrets(self) -> Self:
        """Refuse a secret that is given twice: nobody could tell which one counts."""
        for name in ("init_password", "init_key", "oidc_client_secret"):
            if getattr(self, name).get_secret_value() and getattr(self, f"{name}_file"):
                variable = PREFIX + name.upper()
                raise ValueError(f"{variable} and {variable}_FILE exclude each other")
        return self


def unknown_variables() -> dict[str, str]:
    """Return the `BIGMIND_*` variables that mean nothing here, each with the nearest real name (or an empty text)."""
    # The last is no setting: it is the key with which commands and hooks call as a client.
    known = [PREFIX + name.upper() for name in Environment.model_fields] + ["BIGMIND_API_KEY"]
    unknown = [name for name in os.environ if name.startswith(PREFIX) and name not in known]
    return {name: next(iter(get_close_matches(name, known, n=1)), "") for name in unknown}


@lru_cache
def environment() -> Environment:
    """Return the settings of this process, read once.

    Raises:
        pydantic.ValidationError: a variable has a value that BigMind cannot use.
    """
    return Environment()
