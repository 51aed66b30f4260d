"""Celery's application: it wakes workers; the work itself waits in the database."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")

app = Celery("bigmind")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

from bigmind.observability import task_runs  # noqa: E402, F401
