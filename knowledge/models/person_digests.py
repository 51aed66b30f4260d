"""Digests of people who asked for something: enough to count them, and not to know them."""

from uuid import UUID

from django.utils.crypto import salted_hmac

DIGEST_CHARS = 24


def digest_of_person(user_id: UUID, value: object) -> str:
    """Return what is kept of a person who asked: without our key it tells neither who it was nor what they asked."""
    text = f"{user_id} {value}"
    return salted_hmac("knowledge.people", text, algorithm="sha256").hexdigest()[:DIGEST_CHARS]
