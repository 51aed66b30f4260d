"""SignInTry: one password that was tried, for as long as it counts."""

from django.db import models


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
