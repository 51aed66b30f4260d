"""Who may sign in by the company's own sign-in: existing people, invited people, and nobody by mistake."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.db import transaction

from accounts.models import Alert, Invitation, Role, User
from accounts.people.invitations import use_up
from accounts.people.users import add_user, fresh_username, set_role
from accounts.services.alerts import tell
from bigmind.core.errors import Conflict, Forbidden, Invalid

from .attempts import count_try, forget_tries
from .openid_connect import CLOCKS_DIFFER_SECONDS

ASK = "Ask an admin of this BigMind."

log = structlog.get_logger()


@dataclass(frozen=True)
class Identity:
    """The person the provider vouches for, in its own words."""

    issuer: str
    subject: str
    email: str = ""
    is_email_verified: bool = False
    name: str = ""
    username: str = ""
    groups: frozenset[str] = field(default_factory=frozenset)
    authenticated_at: float = 0.0
    """When they showed the provider who they are, by the clock; 0 where it does not say."""

    @classmethod
    def of(cls, issuer: str, claims: Mapping[str, Any]) -> "Identity":
        """Read the claims of the provider. A claim of the wrong type counts as missing."""
        groups = claims.get(settings.OIDC_ROLE_CLAIM) if settings.OIDC_ROLE_CLAIM else None
        return cls(
            issuer=issuer,
            subject=str(claims["sub"]),
            email=_text(claims.get("email")),
            # Some providers write all claims as text.
            is_email_verified=str(claims.get("email_verified")).lower() == "true",
            name=_text(claims.get("name")),
            username=_text(claims.get("preferred_username")),
            groups=frozenset([groups] if isinstance(groups, str) else filter(_is_text, groups or [])),
            authenticated_at=_moment(claims.get("auth_time")),
        )


def admit(identity: Identity, *, address: str) -> User:
    """Return the person whom the provider vouches for, making or linking them where our rules allow it.

    A user who was here before is known by the provider's id of them. Anyone who comes for the first time is found by
    an e-mail address that the provider has verified and an admin has given: an open invitation, or a person's own.

    Raises:
        Forbidden: nobody may come in this way; it says why.
        TooMany: they were refused too often.
    """
    # Outside the transaction, which a refusal takes back: the attempt still counts.
    count_try(f"sso {identity.subject}", address)
    with transaction.atomic():
        user = _admit(identity)
    forget_tries(f"sso {identity.subject}", address)
    return user


def _admit(identity: Identity) -> User:
    _require_domain(identity)
    # In this order: a linked user needs no verified address any more, and an existing one is not made a second time.
    user = _find_linked_user(identity) or _link_user(identity) or _accept_invitation(identity) or _newcomer(identity)
    if not user.is_active:
        raise Forbidden("Your user here is deactivated.", hint=ASK)
    return _with_role_of_groups(user, identity)


def require_fresh(identity: Identity, *, since: float) -> None:
    """Refuse a sign-in that was to confirm who sits there, unless they showed it to the provider since then.

    Raises:
        Forbidden: the provider let them through because they were signed in there, or does not say.
    """
    if identity.authenticated_at >= since - CLOCKS_DIFFER_SECONDS:
        return
    raise Forbidden(
        f"{settings.OIDC_NAME} does not say that you have just signed in there.",
        hint="It must heed `max_age` and send `auth_time`. With two-factor authentication here, a code is enough.",
    )


@dataclass(frozen=True)
class PreviewedSignIn:
    """What would become of a sign-in: who would come in, and how they are known; or why nobody would."""

    name: str = ""
    role: str = ""
    is_new: bool = False
    refusal: str = ""
    hint: str = ""


def preview_sign_in(identity: Identity) -> PreviewedSignIn:
    """Return who would come in and in which role, by the rules of a real sign-in, and leave everything as it was."""
    try:
        with transaction.atomic():
            user = _admit(identity)
            name, role, number = str(user), user.role, user.pk
            transaction.set_rollback(True)
    except (Forbidden, Conflict) as refusal:
        return PreviewedSignIn(refusal=refusal.message, hint=refusal.hint)
    return PreviewedSignIn(name, role, is_new=not User.objects.filter(pk=number).exists())


def _require_domain(identity: Identity) -> None:
    if not settings.OIDC_ALLOWED_DOMAINS:
        return
    domain = identity.email.rpartition("@")[2].lower()
    if not identity.is_email_verified or domain not in settings.OIDC_ALLOWED_DOMAINS:
        allowed = ", ".join(settings.OIDC_ALLOWED_DOMAINS)
        raise Forbidden("People of your organisation may not come in here.", hint=f"Verified addresses of: {allowed}.")


def _find_linked_user(identity: Identity) -> User | None:
    account = SocialAccount.objects.filter(provider=identity.issuer, uid=identity.subject).select_related("user")
    user: User | None = next((each.user for each in account), None)
    return user


def _link_user(identity: Identity) -> User | None:
    """Link an existing user. An address that they entered themselves does not count: it could be anyone's."""
    _require_verified_email(identity)
    found = list(User.objects.filter(email__iexact=identity.email, is_email_vouched=True)[:2])
    if len(found) != 1:
        return None  # of several people none can be chosen: `_make` refuses
    (user,) = found
    if SocialAccount.objects.filter(user=user, provider=identity.issuer).exists():
        # The provider knows the owner of the address by another id: it was given to someone else, perhaps.
        raise Forbidden(
            f"Someone else signs in with {settings.OIDC_NAME} under your e-mail address.",
            hint=f"{ASK} In /admin/ they delete the old link, if both are you; else they correct the old address.",
        )
    if user.is_active:
        _link(user, identity)
        tell(user, Alert.Topic.SSO_LINKED, f"You sign in with {settings.OIDC_NAME} from now on, as {identity.email}.")
    return user


def _accept_invitation(identity: Identity) -> User | None:
    """Make the user that an open invitation to this address promises, and use it up."""
    invitations = Invitation.objects.open().filter(email__iexact=identity.email).select_for_update(of=("self",))
    invitation = invitations.order_by("-created_at", "-pk").first()
    if invitation is None:
        return None
    user = _make(identity, role=invitation.role, name=invitation.name)
    use_up(invitation, user)
    return user


def _newcomer(identity: Identity) -> User:
    if settings.OIDC_JOIN != "anybody":
        raise Forbidden(
            "You are not invited to this BigMind.",
            hint=f"Ask an admin to invite {identity.email}; then sign in again.",
        )
    return _make(identity, role=Role.MEMBER)


def _make(identity: Identity, *, role: str, name: str = "") -> User:
    if User.objects.filter(email__iexact=identity.email, is_email_vouched=True).exists():
        raise Forbidden("Several people here have your e-mail address.", hint=ASK)
    stem = identity.username.partition("@")[0] or identity.email.partition("@")[0]
    called = (name or identity.name)[:200]
    # The provider's name for a user need not be a valid user name, nor one that can be shown, nor theirs alone.
    choices = ((stem[:140], called), (stem[:140], ""), ("colleague", called), ("colleague", ""))
    user = _add_first_valid(choices, role)
    user.email, user.is_email_vouched = identity.email, True
    user.save(update_fields=["email", "is_email_vouched"])
    _link(user, identity)
    return user


def _add_first_valid(choices: Iterable[tuple[str, str]], role: str) -> User:
    refused: Invalid | None = None
    for stem, called in choices:
        try:
            return add_user(fresh_username(stem), display_name=called, role=role)
        except Invalid as error:
            refused = error
    raise refused or Invalid("No name can be used.")


def _link(user: User, identity: Identity) -> None:
    SocialAccount.objects.create(user=user, provider=identity.issuer, uid=identity.subject, extra_data={})


def _require_verified_email(identity: Identity) -> None:
    if not identity.email or not identity.is_email_verified:
        raise Forbidden(
            f"{settings.OIDC_NAME} does not say that your e-mail address is verified.",
            hint="It must send `email` and `email_verified` once. Verify your address there, or ask an admin.",
        )


def _with_role_of_groups(user: User, identity: Identity) -> User:
    """Give the highest role that their groups stand for, at each sign-in; the last admin stays one."""
    if not settings.OIDC_ROLE_CLAIM:
        return user
    roles = [role for group, role in settings.OIDC_ROLES.items() if group in identity.groups]
    role = max(roles, key=list(Role.values).index, default=Role.MEMBER)
    if role == user.role:
        return user
    try:
        with transaction.atomic():
            return set_role(user, role)
    except Conflict:
        log.warning("The last admin stays one, whatever the groups say.", user=str(user.pk))
        return User.objects.get(pk=user.pk)  # as it is stored, whatever the refused change left on the object


def _text(claim: object) -> str:
    return claim.strip()[:254] if isinstance(claim, str) else ""


def _moment(claim: object) -> float:
    """Return a moment of the past, in seconds; 0 for what is none, such as milliseconds."""
    try:
        moment = float(claim)  # type: ignore[arg-type]  # some providers write numbers as text
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return moment if moment <= time.time() + CLOCKS_DIFFER_SECONDS else 0.0


def _is_text(claim: object) -> bool:
    return isinstance(claim, str)
