"""Sign-in links: they sign a user in once, within a day."""

import secrets
from datetime import timedelta

from django.utils import timezone

from accounts.keys import digest_of
from accounts.models import SignInLink, User

LIFETIME = timedelta(hours=24)


def make_sign_in_link(user: User) -> str:
    """Return the token of a new link. Links of this user that were not used stop working: the newest counts."""
    SignInLink.objects.filter(user=user, used_at=None).delete()
    token = secrets.token_urlsafe(24)
    SignInLink.objects.create(user=user, digest=digest_of(token), expires_at=timezone.now() + LIFETIME)
    return token


def redeem_sign_in_link(token: str) -> User | None:
    """Return the user of a link that is good, and use it up; None for one that is used, expired or unknown."""
    link = find_sign_in_link(token)
    # The update decides, not the read: of two clicks at once only one finds the row unused.
    if link is None or not SignInLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now()):
        return None
    return link.user


def find_sign_in_link(token: str) -> SignInLink | None:
    """Return the link of a token, with its user; None for one that is used, expired or unknown, or of nobody active."""
    good = SignInLink.objects.filter(used_at=None, expires_at__gt=timezone.now(), user__is_active=True)
    return good.select_related("user").filter(digest=digest_of(token)).first()
