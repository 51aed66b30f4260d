"""User: a person, who outlives every key."""

import uuid
from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import models
from django.db.models.functions import Lower


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
