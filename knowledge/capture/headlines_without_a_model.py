"""The headline of a session that its agent gave none: made of what a hook reported, without a language model."""

from bigmind.text.hygiene import cut, one_line
from knowledge.argument_types import ONE_LINER_CHARS

from .reports import Closing, clean

FILES_NAMED = 3


def headline_of(closing: Closing) -> str:
    """Return the subject of the last commit, else the names of changed files; nothing where nothing was changed.

    What was asked is no headline: a later session would read the question in the place of an answer.
    """
    if subjects := [commit.partition(" ")[2] for commit in closing.commits]:
        return cut(one_line(clean(subjects[-1], ONE_LINER_CHARS).text), ONE_LINER_CHARS)
    names = [clean(name, 300).text for name in closing.files]
    more = f" and {len(names) - FILES_NAMED} more files" if len(names) > FILES_NAMED else ""
    shown = ", ".join(one_line(name) for name in names[:FILES_NAMED])
    return f"Changed {cut(shown, ONE_LINER_CHARS - 30)}{more}" if shown else ""
