"""Agent: one MCP client installation of a user."""

from django.db import models

from .users import User


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
