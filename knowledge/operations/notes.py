"""What is offered about notes."""

from bigmind.core.operations import Effect, Operation
from knowledge.services import notes
from knowledge.shapes.notes import NoteShape, NotesShape

OPERATIONS = (
    Operation(
        name="knowledge_set",
        title="Set a note",
        call=notes.set_note,
        shape=NoteShape,
        route="PUT notes/",
        toolset="notes",
        effect=Effect.WRITE,
        idempotent=True,
        template="note_set.md",
    ),
    Operation(
        name="knowledge_get",
        title="Read notes",
        call=notes.get_notes,
        shape=NotesShape,
        route="GET notes/",
        toolset="notes",
        effect=Effect.READ,
        template="notes.md",
    ),
    Operation(
        name="knowledge_delete",
        title="Delete a note",
        call=notes.delete_note,
        shape=NoteShape,
        route="DELETE notes/",
        toolset="notes",
        effect=Effect.DESTROY,
        template="note_deleted.md",
    ),
    Operation(
        name="knowledge_rename",
        title="Rename a note",
        call=notes.rename_note,
        shape=NoteShape,
        route="POST notes/rename/",
        toolset="notes",
        effect=Effect.WRITE,
        template="note_set.md",
    ),
)
