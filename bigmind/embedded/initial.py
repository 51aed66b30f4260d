"""What the first user gets in a container: a password and a key from the environment, or from files it names."""

from pathlib import Path

from pydantic import SecretStr

from accounts.people.first_run import Initial
from bigmind.embedded.refusal import CannotStart
from bigmind.environment import Environment


def initial(environment: Environment) -> Initial:
    """Read BIGMIND_INIT_PASSWORD and BIGMIND_INIT_KEY, or the files that hold them.

    Raises:
        CannotStart: a file cannot be read, or holds nothing.
    """
    return Initial(
        password=_secret(environment.init_password, environment.init_password_file, "BIGMIND_INIT_PASSWORD_FILE"),
        key_text=_secret(environment.init_key, environment.init_key_file, "BIGMIND_INIT_KEY_FILE"),
    )


def _secret(given: SecretStr, file: str, variable: str) -> str:
    if not file:
        return given.get_secret_value()
    try:
        # Editors and `echo` end a file with a line break, which nobody types into a form.
        text = Path(file).read_text().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"{variable} cannot be read: {error}") from error
    if not text:
        raise CannotStart(f"{variable} names a file that holds nothing: {file}")
    return text
