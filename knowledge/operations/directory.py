"""What is offered to find people."""

from bigmind.core.operations import Effect, Operation
from knowledge.services import directory, expertise
from knowledge.shapes.directory import DirectoryShape, ExpertsShape

OPERATIONS = (
    Operation(
        name="directory_list",
        title="List who is here",
        call=directory.list_directory,
        shape=DirectoryShape,
        route="GET directory/",
        toolset="directory",
        effect=Effect.READ,
        template="directory.md",
    ),
    Operation(
        name="directory_search",
        title="Find who worked on something",
        call=expertise.search_directory,
        shape=ExpertsShape,
        route="GET directory/search/",
        toolset="directory",
        effect=Effect.READ,
        template="experts.md",
    ),
)
