"""How a user wants memory to be written, how long what was captured is kept, and folders that nothing is taken from."""

from collections.abc import Sequence
from typing import Annotated, Literal

from django.db import transaction
from pydantic import AfterValidator, Field

from accounts.actor import Actor
from bigmind.core.errors import Forbidden
from bigmind.database.fixed_queries import FixedQuery
from bigmind.text.hygiene import check_content, echo
from knowledge.models import ActRecord, CaptureMode, CapturePolicy, Firing

ModeName = Annotated[
    Literal["automatic", "ask", "manual", "read_only"],
    Field(description="How memory is written: automatically, after asking, on request, never."),
]
KeepDays = Annotated[int, Field(ge=1, le=3650, description="Days that captured conversations are kept.")]
ActRecordName = Annotated[
    Literal["off", "counted"], Field(description="Whether to count how often triggers fire at this user's acts.")
]
Folder = Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(check_content)]
Folders = Annotated[
    list[Folder], Field(max_length=200, description="Folders without recall or capture; replaces the list.")
]


def policy_of(actor: Actor) -> CapturePolicy:
    """Return how the user wants memory to be written; what holds for everyone where they have not chosen."""
    return CapturePolicy.objects.filter(user=actor.user).first() or CapturePolicy(user=actor.user)


@transaction.atomic
def set_policy(
    actor: Actor,
    *,
    mode: ModeName | None = None,
    keep_days: KeepDays | None = None,
    never_folders: Folders | None = None,
    acts: ActRecordName | None = None,
) -> CapturePolicy:
    """Set how this user's memory is written, how long captured conversations are kept, and which folders never.

    Call this only when the user asks for it. An agent may make it stricter; only the user, on the page Captured, may
    loosen it. Omitted settings stay. Returns all settings.
    """
    policy, _ = CapturePolicy.objects.select_for_update().get_or_create(user=actor.user)
    if mode is not None:
        _require_stricter(actor, policy, CaptureMode(mode))
        policy.mode = mode
    if keep_days is not None:
        policy.keep_days = keep_days
    if acts is not None:
        kept = ActRecord.values
        if not actor.is_person and kept.index(acts) > kept.index(policy.acts):
            raise Forbidden(
                "Only the user may have counted how often triggers fire.", hint="They can on the page Captured."
            )
        policy.acts = acts
        if acts == "off":
            Firing.objects.filter(user=actor.user).delete()
    if never_folders is not None:
        kept = list(dict.fromkeys(map(plain_folder, never_folders)))
        if not actor.is_person and not set(policy.never_folders) <= set(kept):
            raise Forbidden("Only the user may take a folder off this list.", hint="They can on the page Captured.")
        policy.never_folders = kept
    policy.save()
    return policy


_READ_ONLY = FixedQuery(
    lambda user_id: CapturePolicy.objects.filter(user=user_id, mode=CaptureMode.READ_ONLY).values_list("pk")[:1]
)


def require_agents_may_write(actor: Actor) -> None:
    """Refuse an agent or a program while its user has their memory read-only. The user's own pages go on."""
    if not actor.is_person and _READ_ONLY(actor.user.pk):
        raise Forbidden(
            "This user's memory is read-only for agents: nothing was stored.",
            hint="Reading and searching go on. The user can change it on the page Captured.",
        )


def is_excluded(policy: CapturePolicy, folder: str) -> bool:
    """Whether the user wants nothing to be taken from this folder, or from one around it."""
    return any(is_within(folder, never) for never in policy.never_folders)


def is_within(folder: str, around: str) -> bool:
    """Whether a folder is another one, or lies below it."""
    return f"{plain_folder(folder).rstrip('/')}/".startswith(f"{plain_folder(around).rstrip('/')}/")


def plain_folder(folder: str) -> str:
    """Return a path with forward slashes and none at its end, as folders are compared."""
    return folder.strip().replace("\\", "/").rstrip("/") or "/"


_STRICTNESS: Sequence[str] = CaptureMode.values


def _require_stricter(actor: Actor, policy: CapturePolicy, mode: CaptureMode) -> None:
    """Refuse an agent that would free itself."""
    if not actor.is_person and _STRICTNESS.index(mode) < _STRICTNESS.index(policy.mode):
        raise Forbidden(
            f"Memory is written {echo(policy.get_mode_display().lower())}, and only the user may loosen that.",
            hint="They can on the page Captured.",
        )
