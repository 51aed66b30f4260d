"""What is offered about errors that come up again."""

from bigmind.core.operations import Effect, Operation
from bigmind.core.reply_shapes import reply_of
from knowledge.lessons import lookup as lessons
from knowledge.shapes.lessons import LessonShape, OwnFixShape

OPERATIONS = (
    Operation(
        name="lesson_for",
        title="Find the lesson about an error",
        call=lessons.lesson_for,
        shape=reply_of(lessons.Lessons, {lessons.Lesson: LessonShape, lessons.OwnFix: OwnFixShape}),
        route="POST kb/lessons/",
        toolset="kb",
        other_effect=Effect.READ,
        template="lessons.md",
        is_slow=True,
    ),
)
