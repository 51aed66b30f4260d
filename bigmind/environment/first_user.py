"""Who is here first: the user that the first start makes."""

from pydantic import BaseModel, Field, SecretStr


class FirstUser(BaseModel):
    """The user that the first start makes."""

    user: str = Field(default="", description="User name of the first user. Default: the name of the system's user.")
    init_user: str = Field(
        default="",
        description="For containers: user name of the first user, instead of BIGMIND_USER. All of BIGMIND_INIT_* count "
        "at the first start, when there is no user yet, and never again.",
    )
    init_password: SecretStr = Field(
        default=SecretStr(""),
        description="Password of the first user: 12 characters or more. Then no sign-in link is printed in the modes "
        "`team` and `enterprise`.",
    )
    init_password_file: str = Field(default="", description="File that holds BIGMIND_INIT_PASSWORD, such as a secret.")
    init_key: SecretStr = Field(
        default=SecretStr(""),
        description="API key of the first user, made with `bigmind key_text`. Then no key is printed.",
    )
    init_key_file: str = Field(default="", description="File that holds BIGMIND_INIT_KEY, such as a secret.")
