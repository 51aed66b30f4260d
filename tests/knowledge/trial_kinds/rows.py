"""The rows of the trial kinds: all that they cost outside their own files."""

ROWS = {
    # The names of the two rows.
    "knowledge.models.passages": [('    FACT = "fact"\n', '    RUMOUR = "rumour"\n    SIGNPOST = "signpost"\n')],
    # The two rows, with the models that they name.
    "knowledge.kinds": [
        ("QUOTED_CHARS = 160\n", "from tests.knowledge.trial_kinds.models import Rumour, Signpost\n"),
        (
            "    Kind.PERSON: MemoryKind(",
            """
    Kind.RUMOUR: MemoryKind(
        Rumour,
        tier="1",
        word="rumour",
        label="Rumours",
        route="memory-rumour",
        list_route="memory-rumours",
        letter="R",
        is_statement=True,
        searchable=lambda: Rumour.objects.filter(set_aside_at=None).select_related("user"),
        visible=lambda user: Rumour.objects.filter(user=user, set_aside_at=None),
        own=OwnMemory(
            rows=lambda user: Rumour.objects.filter(user=user),
            lock="tests.knowledge.trial_kinds.services.own_rumour",
            index="tests.knowledge.trial_kinds.services.index_rumour",
            erase="tests.knowledge.trial_kinds.services.erase_rumour",
            part="tests.knowledge.trial_kinds.transfer.RUMOURS",
            event_title=("text",),
        ),
        promoted=lambda rumour: str(rumour.text),
        session="session",
    ),
    Kind.SIGNPOST: MemoryKind(
        Signpost,
        tier="signs",
        word="signpost",
        label="Signposts",
        route="signpost",
        list_route="signposts",
        section="tests.knowledge.trial_kinds.transfer.SIGNPOSTS",
        index="tests.knowledge.trial_kinds.services.index_signpost",
        searchable=lambda: Signpost.objects.all(),
        visible=lambda user: Signpost.objects.all(),
        promoted=lambda signpost: str(signpost.text),
        project=lambda signpost: "",
    ),
""",
        ),
    ],
    # A page is a row of the table of pages, whatever it is about.
    "knowledge.urls": [
        (
            '    path("memory/", memory.memory, name="memory"),\n',
            """
    path("memory/rumours/", memory.memory, name="memory-rumours"),
    path("memory/rumours/<number:rumour_id>/", memory.memory, name="memory-rumour"),
    path("signposts/", memory.memory, name="signposts"),
    path("signposts/<int:signpost_id>/", memory.memory, name="signpost"),
""",
        )
    ],
}
"""By module: the lines before which something is added, and what."""
