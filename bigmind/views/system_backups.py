"""The page of backups, for admins: how they do, when and for how long they are kept, and making one now."""

from collections.abc import Mapping

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from accounts.models import BackupRun
from accounts.services.audit import audit
from accounts.services.setting_overrides import get_setting
from bigmind.backup.runs import BackupState, error_of
from bigmind.core.background import after_commit
from bigmind.core.errors import Conflict
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.pages import own_page, tell

SHOWN = 30
SCHEDULE = (
    *("backup_every", "backup_keep", "backup_keep_daily", "backup_keep_weekly", "backup_keep_monthly"),
    "backup_rehearse_days",
)
"""The settings that admins change in the page."""
ASKED: Mapping[str, tuple[str, str]] = {
    "make": ("bigmind.tasks.back_up_now", gettext_lazy("A backup is being made.")),
    "rehearse": ("bigmind.tasks.rehearse_now", gettext_lazy("A restore is being rehearsed.")),
}
"""What can be started here: the task, and what is said."""


@own_page
@require_safe
def system_backups(request: HttpRequest) -> HttpResponse:
    """Show how backups do, the last ones, the last rehearsal, and the schedule."""
    actor = actor_of(request)
    actor.require("admin")
    state = BackupState.load()
    rehearsal = state.last(BackupRun.Step.REHEARSED)
    context = {
        "state": state,
        "error": error_of(state),
        "newest": state.last(BackupRun.Step.MADE, is_done=True),
        "rehearsal": rehearsal,
        "report": rehearsal.report if rehearsal else {},
        "runs": state.runs[:SHOWN],
        "schedule": [get_setting(actor, name) for name in SCHEDULE],
    }
    return render(request, "system/backups.html", context)


@own_page
@require_POST
def start_backup_task(request: HttpRequest, name: str) -> HttpResponse:
    """Let a worker make a backup, or rehearse a restore, now."""
    actor_of(request).require("admin")
    if name not in ASKED:
        raise Http404
    task, message = ASKED[name]
    if not any(worker.folder for worker in BackupState.load().workers):
        raise Conflict(
            _("No worker has a folder for backups."), hint=_("Set BIGMIND_BACKUP_DIR on the worker, and restart it.")
        )
    audit("backup_asked", task=name)
    after_commit(task)
    tell(request, _("%(said)s The result appears below when it is done: look again in a minute.") % {"said": message})
    return redirect("system-backups")
