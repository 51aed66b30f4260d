"""The people of an instance: users, what they say of themselves and share, their agents, and who is invited."""

import uuid
from functools import cache
from typing import ClassVar
from zoneinfo import ZoneInfo, available_timezones

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from bigmind.core.private_row_numbers import ids_in
from bigmind.environment.profile_sections import ProfileSection
from bigmind.privacy.masking import PrivateModel

CHOICES = [(section.value, section.value) for section in ProfileSection]


class Role(models.TextChoices):
    """What a person may do beyond their own memory."""

    MEMBER = "member"
    CURATOR = "curator"
    ADMIN = "admin"


class UserManager(BaseUserManager["User"]):
    """Finds and makes people."""

    def create_user(self, username: str, password: str | None = None, **fields: object) -> "User":
        """Make a user; without a password they sign in by link only."""
        user = self.model(username=username, **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, username: str, password: str | None = None, **fields: object) -> "User":
        """Make an admin (Django's own `createsuperuser` asks for this)."""
        return self.create_user(username, password, **{**fields, "role": Role.ADMIN})

    def get_by_natural_key(self, username: str | None) -> "User":
        """Find a user for signing in, whatever the case of the letters."""
        return self.get(username__iexact=username)


@cache
def list_zones() -> frozenset[str]:
    """Return the names of all time zones. It is read from disk once."""
    return frozenset(available_timezones())


class User(AbstractBaseUser):
    """A person. The id never changes; keys come and go."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    username = models.CharField(max_length=150, unique=True, validators=[UnicodeUsernameValidator()])
    display_name = models.CharField(max_length=200, blank=True)
    email = models.EmailField(blank=True)
    is_email_vouched = models.BooleanField(
        "e-mail is vouched for",
        default=False,
        db_default=False,
        help_text="An admin gave the address, not the person: by it, the company’s own sign-in finds them.",
    )
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    last_seen = models.DateTimeField(null=True, blank=True)
    first_steps_closed_at = models.DateTimeField(
        null=True, blank=True, help_text="When they finished or skipped the first steps."
    )
    time_zone = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="Such as Europe/Berlin; empty: not chosen."
    )
    browser_zone = models.CharField(
        max_length=64, blank=True, default="", db_default="", help_text="The time zone of the browser used last."
    )
    language = models.CharField(
        max_length=16, blank=True, default="", db_default="", help_text="Such as de; empty: that of the browser."
    )
    id_block = models.BigIntegerField(
        db_default=models.Func(models.Value("accounts_user_id_block"), function="nextval"),
        editable=False,
        help_text="The upper half of the ids of what this user alone sees.",
    )

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        constraints = [
            models.UniqueConstraint(Lower("username"), name="username_once_whatever_case"),
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="role_is_known"),
        ]

    def __str__(self) -> str:
        return self.display_name or self.username

    @property
    def signature(self) -> str:
        """Name the person so that nobody else can be meant: “Ada Lovelace (ada)”; agents and curators read this."""
        is_same = self.display_name.casefold() in ("", self.username.casefold())
        return str(self) if is_same else f"{self.display_name} ({self.username})"

    @property
    def zone(self) -> ZoneInfo:
        """The time zone in which the person reads times: on pages, in mails and through agents."""
        for name in (self.time_zone, self.browser_zone):
            if name in list_zones():
                return ZoneInfo(name)
        return ZoneInfo(timezone.get_default_timezone_name())

    def ids_of(self, number: int) -> tuple[int, ...]:
        """Return the ids that this user's row of a number can have: at most one of them is taken."""
        return ids_in(self.id_block, number)

    @property
    def is_admin(self) -> bool:
        """Whether this person manages users, keys and the instance."""
        return self.role == Role.ADMIN

    @property
    def is_staff(self) -> bool:
        """Who enters Django's admin: admins, and curators, who see there what is shared and decide about it."""
        return self.role != Role.MEMBER

    @property
    def is_superuser(self) -> bool:
        """Django's admin asks this."""
        return self.is_admin

    def has_perm(self, perm: str, obj: models.Model | None = None) -> bool:
        """Django's admin asks this: an admin may do everything there, others nothing."""
        return self.is_active and self.is_admin

    def has_module_perms(self, app_label: str) -> bool:
        """Django's admin asks this."""
        return self.is_active and self.is_admin


class Profile(PrivateModel):
    """What every session receives about its user: role, preferences, pinned facts."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="profile")
    role = models.CharField(max_length=500, blank=True, help_text="Job title or engineering role.")
    preferences = models.TextField(blank=True)
    pinned_facts = ArrayField(models.TextField(), default=list, blank=True)
    updated_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"Profile of {self.user}"

    @property
    def is_empty(self) -> bool:
        """Whether the user has entered nothing yet."""
        return not (self.role or self.preferences or self.pinned_facts)


class Sharing(models.Model):
    """What its owner chose to show. Anyone who has no row has not chosen: then the default of the instance holds."""

    user = models.OneToOneField(User, models.CASCADE, primary_key=True, related_name="sharing")
    sections = ArrayField(models.CharField(max_length=20, choices=CHOICES), default=list, blank=True)
    in_directory = models.BooleanField(default=True)
    curators_see_told = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether curators may see what their agent had been told when it proposed something.",
    )
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "sharing"
        constraints = [
            models.CheckConstraint(
                condition=models.Q(sections__contained_by=[section.value for section in ProfileSection]),
                name="sharing_sections_are_known",
            )
        ]

    def __str__(self) -> str:
        return f"What {self.user} shares"


class Agent(models.Model):
    """A client (name and version) on a host, which acts for a user."""

    user = models.ForeignKey(User, models.CASCADE, related_name="agents")
    client_name = models.CharField(max_length=200)
    client_version = models.CharField(max_length=100, blank=True)
    host = models.CharField(max_length=200, blank=True)
    first_seen = models.DateTimeField(auto_now_add=True)
    last_seen = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "client_name", "host"], name="agent_once_per_client_and_host")
        ]

    def __str__(self) -> str:
        client = f"{self.client_name} {self.client_version}".strip()
        return f"{client} on {self.host}" if self.host else client


class InvitationQuerySet(models.QuerySet["Invitation"]):
    """Invitations, in the words of those who manage them."""

    def open(self) -> "InvitationQuerySet":
        """Those that can still be accepted.

        An admin's invitation is valid only while they are an admin: a dismissed one could return through it otherwise.
        """
        return self.filter(
            accepted_at=None,
            revoked_at=None,
            expires_at__gt=timezone.now(),
            invited_by__is_active=True,
            invited_by__role=Role.ADMIN,
        )


class Invitation(models.Model):
    """Who may join, and as what. Only the hash of the link's token is stored."""

    name = models.CharField(max_length=200, blank=True)
    email = models.EmailField(blank=True)
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the link's token, in hexadecimal.")
    invited_by = models.ForeignKey(User, models.CASCADE, related_name="invitations")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="invitation_role_is_known"),
            models.CheckConstraint(condition=~models.Q(name="", email=""), name="invitation_names_somebody"),
        ]

    def __str__(self) -> str:
        return self.name or self.email
