"""The page of backups, for admins: how they do, when and for how long they are kept, and making one now."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.authentication import actor_of
from accounts.services.audit import audit
from accounts.services.settings_in_force import list_settings
from bigmind.backup.runs import BackupState, error_of
from bigmind.core.background import after_commit
from bigmind.core.errors import Conflict
from bigmind.core.translation import _
from bigmind.web.pages import own_page, tell

SHOWN = 30
SCHEDULE = ("backup_every", "backup_keep", "backup_keep_daily", "backup_keep_weekly", "backup_keep_monthly")


@own_page
@require_safe
def system_backups(request: HttpRequest) -> HttpResponse:
    """Show how backups do, the last ones, and the schedule."""
    actor = actor_of(request)
    actor.require("admin")
    state = BackupState.load()
    context = {
        "state": state,
        "error": error_of(state),
        "newest": state.last(is_done=True),
        "runs": state.runs[:SHOWN],
        "schedule": [one for group in list_settings(actor) for one in group.settings if one.name in SCHEDULE],
    }
    return render(request, "system/backups.html", context)


@own_page
@require_POST
def start_backup(request: HttpRequest) -> HttpResponse:
    """Let a worker make a backup now."""
    actor_of(request).require("admin")
    if not any(worker.folder for worker in BackupState.load().workers):
        raise Conflict(
            _("No worker has a folder for backups."), hint=_("Set BIGMIND_BACKUP_DIR on the worker, and restart it.")
        )
    audit("backup_asked", task="bigmind.tasks.back_up_now")
    after_commit("bigmind.tasks.back_up_now")
    tell(request, _("A backup is being made. It appears below when it is done: look again in a minute."))
    return redirect("system-backups")
