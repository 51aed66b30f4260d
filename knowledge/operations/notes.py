"""What is offered about notes."""

from bigmind.core.operations import Operation
from knowledge.memory import notes
from knowledge.shapes.notes import NoteShape, NotesShape

OPERATIONS = (
    Operation(
        name="knowledge_set",
        title="Set a note",
        call=notes.set_note,
        shape=NoteShape,
        route="PUT notes/",
        toolset="notes",
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
        template="notes.md",
    ),
    Operation(
        name="knowledge_delete",
        title="Delete a note",
        call=notes.delete_note,
        shape=NoteShape,
        route="DELETE notes/",
        toolset="notes",
        template="note_deleted.md",
    ),
    Operation(
        name="knowledge_rename",
        title="Rename a note",
        call=notes.rename_note,
        shape=NoteShape,
        route="POST notes/rename/",
        toolset="notes",
        template="note_set.md",
    ),
)
