"""The project itself as an app: its commands, and the Celery application that tasks are sent by."""

from django.apps import AppConfig
from django.conf import settings
from django.contrib.admin import apps as admin_apps


class BigMindAdminConfig(admin_apps.AdminConfig):
    """Django's admin, with our admin site."""

    default = False
    default_site = "bigmind.web.admin.TranslatedAdminSite"


class BigMindConfig(AppConfig):
    """Makes BigMind's Celery application the current one in every process, so that workers are woken everywhere."""

    name = "bigmind"

    def ready(self) -> None:
        """Import the Celery application, name models for every language, and send traces where a collector is set."""
        from bigmind import celery  # noqa: F401
        from bigmind.observability.outages import follow_database
        from bigmind.web.admin_words import translate_names

        translate_names()
        follow_database()

        if settings.TRACES:
            from bigmind.observability.tracing import start_tracing

            start_tracing(settings.OTLP_ENDPOINT)
