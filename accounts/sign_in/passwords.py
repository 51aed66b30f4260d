"""Passwords: who may sign in with one, where the company's own sign-in stands in for them."""

from django.conf import settings

from accounts.models import User


def may_use_password(user: User) -> bool:
    """Whether a user may have a password and sign in with it: everyone, or one person for emergencies."""
    only = settings.PASSWORDS_ONLY_FOR
    return not only or user.username.lower() == only.lower()
