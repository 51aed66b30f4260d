"""What is offered about errors that come up again."""

from bigmind.core.operations import Effect, Operation
from knowledge.lessons import lookup as lessons
from knowledge.shapes.lessons import LessonsShape

OPERATIONS = (
    Operation(
        name="lesson_for",
        title="Find the lesson about an error",
        call=lessons.lesson_for,
        shape=LessonsShape,
        route="POST kb/lessons/",
        toolset="kb",
        other_effect=Effect.READ,
        template="lessons.md",
        is_slow=True,
    ),
)
