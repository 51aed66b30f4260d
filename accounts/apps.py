"""The app of who is who."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Users, keys, agents, profiles, and the record of what they did."""

    name = "accounts"
    default_auto_field = "django.db.models.BigAutoField"
