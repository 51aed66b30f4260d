"""SignInLink: a link that signs its user in once."""

from django.db import models

from .users import User


class SignInLink(models.Model):
    """A one-time link; only the hash of its token is stored."""

    user = models.ForeignKey(User, models.CASCADE, related_name="sign_in_links")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"Sign-in link of {self.user}"
