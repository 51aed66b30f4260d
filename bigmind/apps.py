"""The project itself as an app: its commands, and the Celery application that tasks are sent by."""

from django.apps import AppConfig


class BigMindConfig(AppConfig):
    """Makes BigMind's Celery application the current one in every process, so that workers are woken everywhere."""

    name = "bigmind"

    def ready(self) -> None:
        """Import the Celery application."""
        from bigmind import celery  # noqa: F401
