"""Settings that are worth a second look: each in a sentence that says what follows from it."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from django.conf import settings

from bigmind.environment import environment, unknown_variables

LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def unusual_settings(*, passes_the_wall: bool) -> list[str]:
    """Return warnings about settings that are probably a mistake.

    Args:
        passes_the_wall: BigMind connects as a role that bypasses the row-level policies of the database.
    """
    found = [sentence for is_so, sentence in _checks(passes_the_wall) if is_so]
    return found + [
        f"{name} means nothing to BigMind" + (f"; did you mean {nearest}?" if nearest else ".")
        for name, nearest in unknown_variables().items()
    ]


def _checks(passes_the_wall: bool) -> Iterator[tuple[bool, str]]:
    is_for_many = settings.BIGMIND_MODE != "personal"
    address = urlsplit(settings.PUBLIC_URL)
    yield settings.DEBUG, "BIGMIND_DEBUG is on: errors show the code and its variables to whoever meets one."
    yield (
        address.scheme != "https" and address.hostname not in LOOPBACK,
        "BIGMIND_PUBLIC_URL has no https: keys and passwords can be read on the way.",
    )
    yield passes_the_wall, "The database takes BigMind for a superuser: its second wall holds nobody."
    yield is_for_many and not settings.EMAIL_HOST, "BIGMIND_EMAIL_URL is not set: nobody is told by e-mail."
    yield not settings.BACKUP_DIR, "BIGMIND_BACKUP_DIR is not set: only “bigmind backup” makes backups."
    yield not settings.RATE_LIMIT_PER_MINUTE, "BIGMIND_RATE_LIMIT is 0: a key may call as often as it can."
    yield (
        is_for_many and settings.REQUIRE_MFA == "nobody" and not settings.OIDC_ISSUER,
        "BIGMIND_REQUIRE_MFA is “nobody”: a guessed password is enough, also an admin's.",
    )
    yield settings.WEBHOOK_PRIVATE, "BIGMIND_WEBHOOK_PRIVATE is on: the webhook may call into the private network."
    yield environment().log_level == "DEBUG", "BIGMIND_LOG_LEVEL is DEBUG: logs grow fast and libraries are talkative."
    yield (
        settings.EMBEDDING_PROVIDER == "hashing",
        "BIGMIND_EMBEDDING_PROVIDER is “hashing”, which is for tests: search by meaning finds little.",
    )
