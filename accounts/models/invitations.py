"""Invitation: a link by which a person who has not joined yet makes their own user."""

from django.db import models
from django.utils import timezone

from .users import Role, User


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
