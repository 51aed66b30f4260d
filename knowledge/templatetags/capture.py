"""What pages about hooks say."""

from django import template

from accounts.connecting.supported_clients import client_called

register = template.Library()


@register.filter
def client_name(slug: str) -> str:
    """Return what people call a client: “Claude Code” for `claude-code`."""
    client = client_called(slug)
    return client.name if client else slug
