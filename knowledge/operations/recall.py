"""What is offered to find what is known, whatever its kind."""

from bigmind.core.operations import Operation
from knowledge.recall import recall, semantic_search
from knowledge.shapes.recall import HitsShape, RecallShape, RecollectionsShape

OPERATIONS = (
    Operation(
        name="memory_recall",
        title="Recall",
        call=recall.recall,
        shape=RecallShape,
        route="GET recall/",
        toolset="core",
        template="recall.md",
        is_slow=True,
    ),
    Operation(
        name="memory_semantic_search",
        title="Search everything",
        call=semantic_search.semantic_search,
        shape=RecollectionsShape,
        route="GET search/",
        toolset="memory",
        with_core=True,
        template="hits.md",
        is_slow=True,
    ),
    Operation(
        name="memory_search_chunks",
        title="Search flagged exchanges",
        call=recall.search_chunks,
        shape=HitsShape,
        route="GET chunks/search/",
        toolset="memory",
        template="hits.md",
        is_slow=True,
    ),
    Operation(
        name="knowledge_search",
        title="Search notes",
        call=recall.search_notes,
        shape=HitsShape,
        route="GET notes/search/",
        toolset="notes",
        template="hits.md",
        is_slow=True,
    ),
)
