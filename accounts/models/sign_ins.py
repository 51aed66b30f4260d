"""SignIn: a browser in which a user is signed in."""

from django.contrib.sessions.models import Session
from django.db import models

from .users import User


class SignIn(models.Model):
    """What is known of a browser's session. It goes with the session, whatever ends that."""

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
