"""The services of the trial kinds."""

from accounts.actor import Actor
from bigmind.core.errors import NotFound
from knowledge.models import Kind, Session
from knowledge.search.passages import erase_passages, index_passages

from .models import Rumour, Signpost


def store_rumour(actor: Actor, text: str, *, session: Session | None = None, project: str = "") -> Rumour:
    rumour = Rumour.objects.create(user=actor.user, session=session, text=text, project=project)
    index_rumour(rumour, made=True)
    return rumour


def own_rumour(actor: Actor, rumour_id: int) -> Rumour:
    mine = Rumour.objects.select_for_update(of=("self",)).filter(user=actor.user)
    rumour = mine.filter(pk__in=actor.user.ids_of(rumour_id)).first()
    if rumour is None:
        raise NotFound(f"You have no rumour {rumour_id}.")
    return rumour


def index_rumour(rumour: Rumour, *, made: bool = False) -> None:
    if not rumour.is_in_view:
        erase_passages(Kind("rumour"), [rumour.pk])
        return
    owner, project = rumour.user, rumour.project
    index_passages(Kind("rumour"), rumour.pk, [rumour.text], owner=owner, project=project, made=made)


def erase_rumour(actor: Actor, *, rumour_id: int) -> None:
    rumour = own_rumour(actor, rumour_id)
    erase_passages(Kind("rumour"), [rumour.pk])
    rumour.delete()


def put_up_signpost(text: str) -> Signpost:
    signpost = Signpost.objects.create(text=text)
    index_signpost(signpost)
    return signpost


def index_signpost(signpost: Signpost) -> None:
    index_passages(Kind("signpost"), signpost.pk, [signpost.text], owner=None, made=True)
