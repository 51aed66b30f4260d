"""How people sign in: one-time links, failed passwords, and the browsers they are signed in with."""

from django.contrib.sessions.models import Session
from django.db import models

from .people import User


class SignInLink(models.Model):
    """A one-time link; only the hash of its token is stored."""

    user = models.ForeignKey(User, models.CASCADE, related_name="sign_in_links")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"Sign-in link of {self.user}"


class SignInTry(models.Model):
    """A try to sign in; the name is kept as a digest, because people mistype passwords there."""

    name_digest = models.CharField(max_length=64)
    address = models.CharField(max_length=45, blank=True, help_text="Where it came from; of IPv6, the network.")
    at = models.DateTimeField()

    class Meta:
        verbose_name = "sign-in try"
        verbose_name_plural = "sign-in tries"
        indexes = [
            models.Index(fields=["address", "at"], name="sign_in_try_from"),
            models.Index(fields=["at"], name="sign_in_try_at"),
        ]

    def __str__(self) -> str:
        return f"Try from {self.address or 'a page'}"


class SignIn(models.Model):
    """Details of a browser's session. They are deleted with the session, however it ends."""

    session = models.OneToOneField(Session, models.CASCADE, related_name="sign_in")
    user = models.ForeignKey(User, models.CASCADE, related_name="sign_ins")
    user_agent = models.CharField(max_length=300, blank=True, help_text="How the browser names itself.")
    address = models.CharField(max_length=45, blank=True, help_text="Where it was seen last.")
    since = models.DateTimeField()
    last_seen = models.DateTimeField()

    class Meta:
        verbose_name = "sign-in"
        indexes = [models.Index(fields=["user", "-last_seen"], name="sign_in_of_user")]

    def __str__(self) -> str:
        return f"{self.user} from {self.address or 'this machine'}"
