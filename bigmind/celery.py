"""Celery's application: it wakes workers; the work itself waits in the database."""

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, worker_ready

from bigmind.embedded.scheduling import add_scheduler_option

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")

PATIENT = {"socket_connect_timeout": 1, "socket_timeout": 5}

app = Celery("bigmind", task_cls="bigmind.core.background:BackgroundTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
add_scheduler_option(app)


@celeryd_init.connect(dispatch_uid="bigmind.celery.patience")  # type: ignore[untyped-decorator]  # Celery has no types.
def be_patient(conf: Any, **_: object) -> None:
    """Let a worker wait longer than those who only wake it: it asks Redis for work, which answers once there is."""
    if "socket_timeout" in conf.broker_transport_options:  # A queue of files answers at once.
        conf.broker_transport_options = PATIENT


from bigmind.observability import task_runs  # noqa: E402, F401


@worker_ready.connect(dispatch_uid="bigmind.celery")  # type: ignore[untyped-decorator]
def take_over_settings(**_: Any) -> None:
    """Let tasks see what an admin changes while this worker runs."""
    from accounts.services.setting_overrides import follow_in_background

    follow_in_background()


@worker_ready.connect(dispatch_uid="bigmind.celery.company")  # type: ignore[untyped-decorator]
def sync_with_company(**_: Any) -> None:
    """Sync at once, if there is a company server: the scheduler begins with the first minute, and a laptop sleeps."""
    from django.conf import settings

    if settings.COMPANY_URL:
        app.send_task("curation.tasks.sync_with_company", ignore_result=True, expires=60)
