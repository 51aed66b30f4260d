"""What is offered to read company knowledge, and to say what it was worth."""

from bigmind.core.operations import Operation
from bigmind.core.reply_shapes import reply_of
from knowledge.exposures import feedback
from knowledge.kb import company
from knowledge.models import Feedback
from knowledge.shapes.company import CompanyEntriesShape, CompanyHitsShape, FeedbackShape

OPERATIONS = (
    Operation(
        name="memory_list_global",
        title="List company knowledge",
        call=company.list_global,
        shape=CompanyEntriesShape,
        route="GET company/",
        toolset="company",
        template="company_entries.md",
    ),
    Operation(
        name="memory_search_global",
        title="Search company knowledge",
        call=company.search_global,
        shape=CompanyHitsShape,
        route="GET company/search/",
        toolset="company",
        template="company_hits.md",
        is_slow=True,
    ),
    Operation(
        name="memory_feedback",
        title="Give feedback",
        call=feedback.give_feedback,
        shape=reply_of(feedback.RecordedFeedback, {Feedback: FeedbackShape}),
        route="POST feedback/",
        toolset="company",
        in_core=True,
        idempotent=True,
        template="feedback.md",
    ),
)
