"""Signs of prompt injections in what an older version wrote: a sweep looks at it, some rows at a time."""

from django.db import transaction

from knowledge.models.injection_signs import SharedKnowledge, find_signs

BATCH = 200


def find_missing_signs() -> int:
    """Look at the shared things that nobody has looked at; return how many there were. The sweep calls this.

    May run twice at once and be killed at any point. What someone changes at the moment gets its signs with the change.
    """
    found = 0
    for model in SharedKnowledge.__subclasses__():
        while part := _look_at_some(model):
            found += part
    return found


@transaction.atomic
def _look_at_some(model: type[SharedKnowledge]) -> int:
    waiting = model._default_manager.filter(signs=None).order_by("pk")
    rows = list(waiting.select_for_update(skip_locked=True, no_key=True)[:BATCH])
    alike: dict[tuple[str, ...], list[object]] = {}
    for row in rows:
        alike.setdefault(tuple(find_signs(row)), []).append(row.pk)
    for signs, keys in alike.items():
        model._default_manager.filter(pk__in=keys).update(signs=list(signs))
    return len(rows)
