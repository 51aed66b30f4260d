"""What was asked is no headline and is found by no search: headlines and passages that older versions made of it go.

A headline is known as one that a machine made: it is the beginning of the first prompt of its conversation, or of the
first message that a hook or an import kept. Outcomes and summaries that imports wrote about themselves are known by
their fixed words. The prompts themselves stay where they are, on the pages of their conversations.
"""

from django.db import migrations
from django.db.models import Q

from bigmind.database.rls import rls_bypass

MACHINE = Q(flag_reason="captured") | Q(flag_reason__contains=" of an imported conversation")
ASKS = Q(role="user") | Q(content__endswith="?") | Q(content__endswith="？") | Q(content__endswith="؟")
NO_HEADLINE = "[closed by its client, without a headline]"
BOILERPLATE = r"^A conversation .*, imported(: |\.$)"
OPENING = "It began with: "


@rls_bypass()
def drop_echo(apps, schema_editor):
    """Delete the passages of what was asked, and the headlines that were made of it, with their sessions' passages."""
    model = apps.get_model
    chunks, sessions = model("knowledge", "Chunk").objects, model("knowledge", "Session").objects
    summaries = model("knowledge", "Summary").objects
    echo = [str(pk) for pk in chunks.filter(MACHINE & ASKS).values_list("pk", flat=True)]
    _delete_passages(model, "chunk", echo)
    changed = set()
    for session in sessions.filter(Q(chunks__in=chunks.filter(MACHINE)) | Q(conversations__isnull=False)).distinct():
        if session.one_liner and _is_machine_made(model, session):
            session.one_liner = ""
            session.save(update_fields=["one_liner"])
            changed.add(session.pk)
    told = sessions.filter(outcome__regex=BOILERPLATE, chunks__in=chunks.filter(MACHINE)).distinct()
    changed.update(told.values_list("pk", flat=True))
    sessions.filter(pk__in=list(told.values_list("pk", flat=True))).update(outcome="")
    began = summaries.filter(summary__startswith=OPENING, session__chunks__in=chunks.filter(MACHINE)).distinct()
    changed.update(began.values_list("session", flat=True))
    summaries.filter(pk__in=list(began.values_list("pk", flat=True))).update(summary="")
    # The next check of the index writes those anew that still say something.
    _delete_passages(model, "summary", [str(pk) for pk in changed])
    of_changed = chunks.filter(session__in=changed).values_list("pk", flat=True)
    _delete_passages(model, "chunk", [str(pk) for pk in of_changed])


def _is_machine_made(model, session):
    line = session.one_liner
    if line == NO_HEADLINE or (line.startswith("Conversation with ") and "imported" in session.outcome):
        return True
    asked = list(session.chunks.filter(MACHINE, role="user").order_by("seq").values_list("content", flat=True)[:1])
    prompts = model("knowledge", "HookEvent").objects.filter(conversation__session=session, event="prompt")
    asked += prompts.exclude(prompt="").order_by("pk").values_list("prompt", flat=True)[:1]
    # A hook left out what stands before a first line, such as a heading's mark.
    begins = [" ".join(text.split()).lstrip(" #*`->") for text in asked]
    return any(text.startswith(line.rstrip("….").strip()) for text in begins)


def _delete_passages(model, kind, ids):
    passages = model("knowledge", "Passage").objects
    for at in range(0, len(ids), 1000):
        passages.filter(kind=kind, source_id__in=ids[at : at + 1000]).delete()


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0063_hook_failures_are_counted")]

    operations = [migrations.RunPython(drop_echo, migrations.RunPython.noop)]
