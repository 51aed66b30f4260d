"""Celery's application: it wakes workers; the work itself waits in the database."""

import os
from typing import Any

from celery import Celery
from celery.signals import celeryd_init, worker_ready

from bigmind.embedded.scheduling import add_worker_options

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "bigmind.settings")

PATIENT = {"socket_connect_timeout": 1, "socket_timeout": 5, "ack_emulation": False}

app = Celery("bigmind", task_cls="bigmind.core.background:BackgroundTask")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
add_worker_options(app)


@celeryd_init.connect(dispatch_uid="bigmind.celery.patience")  # type: ignore[untyped-decorator]  # Celery has no types.
def be_patient(conf: Any, **_: object) -> None:
    """Let a worker wait longer than those who only wake it: it asks Redis for work, which answers once there is."""
    if "socket_timeout" in conf.broker_transport_options:  # A queue of files answers at once.
        conf.broker_transport_options = PATIENT


from bigmind.observability import task_runs  # noqa: E402, F401


@worker_ready.connect(dispatch_uid="bigmind.celery")  # type: ignore[untyped-decorator]
def begin_at_once(**_: Any) -> None:
    """Look after indexes and backups, so that health says from now on whether this worker may; sync with a company.

    The scheduler would begin later, and a laptop sleeps.
    """
    from django.conf import settings

    company = ["curation.tasks.sync_with_company"] if settings.COMPANY_URL else []
    for name in ["knowledge.tasks.keep_indexes", "bigmind.tasks.back_up", *company]:
        app.send_task(name, ignore_result=True, expires=60)
