"""Invitations: an admin decides who may join and in which role; the invited person chooses a name and a password."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.actor import Actor
from accounts.keys import digest_of
from accounts.models import Invitation, Role, User
from accounts.services.audit import audit
from bigmind.core.errors import Conflict, Invalid, NotFound
from bigmind.text.hygiene import clean_name

from .users import add_user

LIFETIME = timedelta(days=7)
GONE = "This invitation does not work any more."


@dataclass(frozen=True)
class NewInvitation:
    """An invitation that was just made, with its link: the only moment at which the link is known."""

    invitation: Invitation
    url: str


@transaction.atomic
def invite(actor: Actor, *, name: str = "", email: str = "", role: str = Role.MEMBER) -> NewInvitation:
    """Invite a person by name, e-mail or both. Their earlier invitations stop working: only the newest is valid.

    Raises:
        Forbidden: the actor is no admin.
        Invalid: nobody is named, or the name, the address or the role cannot be used.
        Conflict: there is a user with this address already.
    """
    actor.require("admin")
    name, email = _name(name), _email(email)
    if not name and not email:
        missing = "Give a name or an e-mail address."
        raise Invalid(missing, problems=[{"field": "name", "message": missing}])
    if role not in Role.values:
        raise Invalid(f"role must be one of: {', '.join(Role.values)}.")
    if email and (known := User.objects.filter(email__iexact=email).first()):
        raise Conflict(f"{known} has this e-mail address already.", hint="See the page “People”.")
    Invitation.objects.open().filter(name=name, email__iexact=email).update(revoked_at=timezone.now())
    token = secrets.token_urlsafe(24)
    invitation = Invitation.objects.create(
        name=name,
        email=email,
        role=role,
        digest=digest_of(token),
        invited_by=actor.user,
        expires_at=timezone.now() + LIFETIME,
    )
    audit("invited", invitation=invitation.pk, role=role)
    return NewInvitation(invitation, f"{settings.PUBLIC_URL}/invitation/{token}/")


def list_invitations(actor: Actor) -> QuerySet[Invitation]:
    """Return the invitations that can still be accepted, the newest first."""
    actor.require("admin")
    return Invitation.objects.open().select_related("invited_by").order_by("-created_at", "-pk")


@transaction.atomic
def revoke_invitation(actor: Actor, *, invitation_id: int) -> Invitation:
    """End an invitation: its link opens nothing any more.

    Raises:
        NotFound: there is no such open invitation.
    """
    invitation = list_invitations(actor).filter(pk=invitation_id).first()
    if invitation is None:
        raise NotFound("There is no such open invitation.", hint="It may have been accepted; see the page “People”.")
    invitation.revoked_at = timezone.now()
    invitation.save(update_fields=["revoked_at"])
    audit("invitation_revoked", invitation=invitation.pk)
    return invitation


def open_invitation(token: str) -> Invitation | None:
    """Return the invitation of a link that is good; None for one that is used, revoked, expired or unknown."""
    return Invitation.objects.open().filter(digest=digest_of(token)).first()


@transaction.atomic
def accept_invitation(token: str, *, username: str, display_name: str = "", password: str) -> User:
    """Make the user that an invitation promises, and use it up.

    Raises:
        NotFound: the invitation is used, revoked, expired or unknown.
        Invalid: the user name or the password cannot be used.
        Conflict: the user name is taken.
    """
    # Locked: of two who follow the same link at once, the second one finds it accepted.
    invitation = Invitation.objects.open().select_for_update(of=("self",)).filter(digest=digest_of(token)).first()
    if invitation is None:
        raise NotFound(GONE, hint="Ask the person who invited you for a new one.")
    require_good_password(password, User(username=username, display_name=display_name, email=invitation.email))
    user = add_user(username, display_name=display_name, role=invitation.role, password=password)
    user.email, user.is_email_vouched = invitation.email, bool(invitation.email)
    user.save(update_fields=["email", "is_email_vouched"])
    use_up(invitation, user)
    return user


def use_up(invitation: Invitation, user: User) -> None:
    """Note that a user has joined by an invitation, which is locked: it opens nothing any more."""
    invitation.accepted_at = timezone.now()
    invitation.save(update_fields=["accepted_at"])
    audit("invitation_accepted", about=user, by=user, invitation=invitation.pk)


def require_good_password(password: str, user: User) -> None:
    """Refuse a password that is too short, too common, or too much like its owner's name.

    Raises:
        Invalid: with every reason.
    """
    try:
        validate_password(password, user)
    except ValidationError as error:
        problems = [{"field": "password", "message": message} for message in error.messages]
        raise Invalid(" ".join(error.messages), problems=problems) from error


def _name(name: str) -> str:
    try:
        cleaned = clean_name(name)
    except ValueError as error:
        raise Invalid(f"The name {error}.", problems=[{"field": "name", "message": str(error)}]) from error
    if len(cleaned) > 200:
        raise Invalid.of("name", f"may have 200 characters; this has {len(cleaned)}")
    return cleaned


def _email(email: str) -> str:
    email = email.strip()
    try:
        if email:
            validate_email(email)
    except ValidationError as error:
        raise Invalid.of("email", "must be an e-mail address, such as ada@example.com") from error
    if len(email) > 254:
        raise Invalid.of("email", f"may have 254 characters; this has {len(email)}")
    return email
