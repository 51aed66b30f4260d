"""Second factors: six digits from an app after the password or the link, and recovery codes for a lost phone.

The rows and the arithmetic are django-allauth's. What BigMind adds: a code counts once on all processes, everything is
reported to the person, and an admin can demand it of people and reset it for them.
"""

import base64
from dataclasses import dataclass
from datetime import datetime

import qrcode
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from cryptography.fernet import InvalidToken
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils.crypto import constant_time_compare
from qrcode.image.svg import SvgPathFillImage

from accounts.actor import Actor
from accounts.models import Alert, Role, User
from accounts.services.alerts import tell
from bigmind.core.errors import Conflict, Invalid

from .sign_ins import end_sign_ins

ACCEPTED_KEPT = 10
"""Codes that are kept as accepted, the newest first."""
WRONG = "must be the one that the app shows now, and counts once: wait for the next, or use a recovery code"


@dataclass(frozen=True)
class SecondFactor:
    """The second factor that a user has."""

    since: datetime
    last_used: datetime | None
    codes_left: int


@dataclass(frozen=True)
class Enrolment:
    """What an app needs to make codes: the secret, as text and as a picture to scan."""

    secret: str

    @property
    def in_groups(self) -> str:
        """The secret as people type it."""
        return " ".join(self.secret[start : start + 4] for start in range(0, len(self.secret), 4))

    def picture(self, user: User) -> str:
        """Return the QR code as an address of its own, so that the page needs nothing from elsewhere."""
        url = get_adapter().build_totp_url(user, self.secret)
        svg = qrcode.make(url, image_factory=SvgPathFillImage, border=2).to_string()
        return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def second_factor_exists() -> Exists:
    """Say of each user in a query whether they have a second factor."""
    return Exists(Authenticator.objects.filter(user=OuterRef("pk"), type=Authenticator.Type.TOTP))


def has_second_factor(user: User) -> bool:
    """Whether a user is asked for a code when they sign in."""
    return bool(Authenticator.objects.filter(user=user, type=Authenticator.Type.TOTP).exists())


def must_have_second_factor(user: User) -> bool:
    """Whether this instance demands one of a user in this role."""
    return settings.REQUIRE_MFA == "everybody" or (settings.REQUIRE_MFA == "deciders" and user.role != Role.MEMBER)


def second_factor_of(user: User) -> SecondFactor | None:
    """Return the second factor that a user has; None for none."""
    rows = {row.type: row for row in Authenticator.objects.filter(user=user)}
    app, codes = rows.get(Authenticator.Type.TOTP), rows.get(Authenticator.Type.RECOVERY_CODES)
    if app is None:
        return None
    used = [row.last_used_at for row in (app, codes) if row and row.last_used_at]
    left = settings.MFA_RECOVERY_CODE_COUNT - int(codes.data["used_mask"]).bit_count() if codes else 0
    return SecondFactor(app.created_at, max(used, default=None), left)


def begin_enrolment(kept: str = "") -> tuple[Enrolment, str]:
    """Return what an app needs, and the same encrypted, to be kept until the first code comes. `kept` goes on."""
    try:
        return Enrolment(get_adapter().decrypt(kept)), kept
    except InvalidToken:
        secret = generate_totp_secret()
        return Enrolment(secret), get_adapter().encrypt(secret)


@transaction.atomic
def set_up_second_factor(user: User, enrolment: Enrolment, *, code: str) -> list[str]:
    """Require a code from a user from now on, after a first code proves that their app works; return recovery codes.

    Raises:
        Conflict: they have a second factor already.
        Invalid: the code is wrong.
    """
    try:
        with transaction.atomic():  # a savepoint, so that the transaction can go on after the IntegrityError
            TOTP.activate(user, enrolment.secret)
    except IntegrityError as error:
        raise Conflict("You have a second factor already.", hint="Remove it first to set up another app.") from error
    # After the activation, whose row keeps the code as accepted; the refusal takes the row back.
    if not _app_made(user, code):
        raise _wrong_code()
    codes: list[str] = RecoveryCodes.activate(user).generate_codes()
    tell(user, Alert.Topic.FACTOR_SET_UP, "Your second factor was set up: signing in asks for a code.")
    return codes


def check_code(user: User, code: str) -> None:
    """Accept a code from the app or a recovery code, once.

    Raises:
        Invalid: it is neither, or was used already.
        Conflict: the secret cannot be read any more.
    """
    if not _app_made(user, code) and not _is_recovery_code(user, code):
        raise _wrong_code()


@transaction.atomic
def renew_recovery_codes(user: User, *, code: str) -> list[str]:
    """Replace a user's recovery codes and return the new ones: the only moment at which they are shown.

    Raises:
        Invalid: the code is wrong.
    """
    check_code(user, code)
    Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).delete()
    codes: list[str] = RecoveryCodes.activate(user).generate_codes()
    tell(user, Alert.Topic.CODES_RENEWED, "Your recovery codes were replaced: the old ones open nothing any more.")
    return codes


@transaction.atomic
def remove_second_factor(user: User, *, code: str) -> None:
    """Turn the second factor of a user off, in exchange for one last code.

    Raises:
        Conflict: this instance demands a second factor of them.
        Invalid: the code is wrong.
    """
    if must_have_second_factor(user):
        raise Conflict("This BigMind demands a second factor of you.", hint="An admin can reset it, to set up another.")
    check_code(user, code)
    Authenticator.objects.filter(user=user).delete()
    tell(user, Alert.Topic.FACTOR_REMOVED, "Your second factor was removed: signing in asks for no code any more.")


@transaction.atomic
def reset_second_factor(actor: Actor, person: User) -> None:
    """Reset a user's second factor after they lost phone and recovery codes. They are signed out and notified.

    Raises:
        Conflict: they have none, or it is one's own.
    """
    actor.require("admin")
    if actor.user == person:
        raise Conflict("That is your own second factor.", hint="Remove it on your own page, with a code.")
    forget_second_factor(person, by=actor.user)


@transaction.atomic
def forget_second_factor(person: User, *, by: User | None = None) -> None:
    """Reset a user's second factor and notify them; `by` is None where it was done on the machine itself.

    Raises:
        Conflict: they have none.
    """
    gone, _ = Authenticator.objects.filter(user=person).delete()
    if not gone:
        raise Conflict(f"{person} has no second factor.", hint="There is nothing to reset.")
    end_sign_ins(person)
    who = "an admin" if by else "whoever runs this BigMind"
    tell(person, Alert.Topic.FACTOR_RESET, f"Your second factor was reset by {who}. Set up a new one.", by=by)


@transaction.atomic
def _app_made(user: User, code: str) -> bool:
    """Whether the app made this code now. One that was accepted is refused from then on, and so are older ones.

    Codes that were accepted while the clock ran ahead do not count among the older ones: nobody is locked out until the
    time is reached that the clock once showed.
    """
    rows = Authenticator.objects.select_for_update().filter(user=user, type=Authenticator.Type.TOTP)
    row, digits = rows.first(), _digits(code)
    if row is None:
        return False
    secret, counters = _decrypt(row), list(yield_hotp_counters_from_time())
    # Rows that an older version has written hold the last counter alone.
    accepted = row.data.get("accepted", [row.data.get("last_counter", 0)])
    last = max((counter for counter in accepted if counter <= max(counters)), default=0)
    for counter in counters:
        is_it = constant_time_compare(digits, format_hotp_value(hotp_value(secret, counter)))
        if is_it and counter > last:
            # In the row and not, as django-allauth has it, in a cache, which may be one of each process. Decision 17.
            row.data["accepted"] = [counter, *accepted][:ACCEPTED_KEPT]
            row.save(update_fields=["data"])
            row.record_usage()
            return True
    return False


def _is_recovery_code(user: User, code: str) -> bool:
    row = Authenticator.objects.filter(user=user, type=Authenticator.Type.RECOVERY_CODES).first()
    if row is None or not RecoveryCodes(row).validate_code(_digits(code)):
        return False
    Authenticator.objects.get(pk=row.pk).record_usage()
    tell(user, Alert.Topic.CODE_USED, "A recovery code was used. It opens nothing any more.")
    return True


def _decrypt(row: Authenticator) -> str:
    try:
        return str(get_adapter().decrypt(row.data["secret"]))
    except InvalidToken as error:
        raise Conflict(
            "Your second factor cannot be read: the secret key of this BigMind has changed.",
            hint="An admin can reset it; so does `bigmind user_reset_second_factor`.",
        ) from error


def _digits(code: str) -> str:
    """The significant part of a code: people type spaces and hyphens where an app shows them."""
    return "".join(char for char in code if char in "0123456789")


def _wrong_code() -> Invalid:
    return Invalid.of("code", WRONG)
