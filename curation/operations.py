"""The operations of company knowledge: propose, follow a proposal, decide, and forget a source."""

from typing import Annotated, Any

from pydantic import Field

from accounts.models import User
from bigmind.core.operations import Effect, Operation
from bigmind.core.reply_shapes import reply_of
from bigmind.database.pagination import ListShape
from curation.decisions import deciding, entry_details, forgetting, golden_questions
from curation.decisions.neighbours import Neighbour
from curation.models import Comment, GoldenQuestion, Review
from curation.proposals import briefing, claims, proposals, queue
from curation.services import anchor_reports
from curation.shapes.briefings import ClaimShape, ComplaintShape, GoldenEffectShape
from curation.shapes.golden_questions import GoldenQuestionShape, GoldenQuestionsShape
from curation.shapes.reviews import CommentShape, PersonName, ReviewShape
from knowledge.context.company import CompanyLine
from knowledge.models import CompanyEntry, Feedback
from knowledge.shapes.anchors import AnchoredItemsShape, AnchorReportShape
from knowledge.shapes.company import CompanyEntriesShape, CompanyEntryShape

_OF_ENTRIES: dict[Any, Any] = {
    CompanyEntry: CompanyEntryShape,
    Review: ReviewShape,
    Comment: CommentShape,
    Feedback: ComplaintShape,
    GoldenQuestion: GoldenEffectShape,
    User: PersonName,
}
_OF_ENTRIES |= {
    Neighbour: reply_of(Neighbour, _OF_ENTRIES, without=["says_same"]),
    CompanyLine: reply_of(CompanyLine, without=["id", "source"], tokens=int),
    deciding.Decision: reply_of(deciding.Decision, _OF_ENTRIES, status=str),
}
_OF_ENTRIES[briefing.ContextEffect] = reply_of(briefing.ContextEffect, _OF_ENTRIES, without=["top"])
WaitingShape: Any = reply_of(queue.QueueItem, _OF_ENTRIES, without=["complained_at"], age_days=int)


class WaitingPageShape(ListShape[WaitingShape]):
    """A page of the queue."""


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        name="memory_promote_to_global",
        title="Propose company knowledge",
        call=proposals.promote_to_global,
        shape=reply_of(
            proposals.Proposal,
            _OF_ENTRIES,
            status=str,
            session_handle=Annotated[str, Field(description="The handle of its session: S7. Empty: it has none.")],
        ),
        route="POST company/",
        toolset="company",
        in_core=True,
        idempotent=True,
        template="proposal.md",
    ),
    Operation(
        name="memory_list_my_proposals",
        title="List your proposals",
        call=proposals.list_my_proposals,
        shape=CompanyEntriesShape,
        route="GET company/mine/",
        toolset="company",
        template="proposals.md",
    ),
    Operation(
        name="memory_get_global",
        title="Read company knowledge",
        call=entry_details.get_company_entry,
        shape=reply_of(
            entry_details.CompanyEntryDetail,
            _OF_ENTRIES,
            credits=Annotated[
                list[str], Field(description="Who contributed: the proposer, and those of merged entries.")
            ],
        ),
        route="GET company/{entry_id}/",
        toolset="company",
        template="company_entry.md",
    ),
    Operation(
        name="memory_revise_proposal",
        title="Revise your proposal",
        call=proposals.revise_proposal,
        shape=CompanyEntryShape,
        route="PATCH company/{entry_id}/",
        toolset="company",
        template="proposal_revised.md",
    ),
    Operation(
        name="memory_withdraw_proposal",
        title="Withdraw your proposal",
        call=proposals.withdraw_proposal,
        shape=CompanyEntryShape,
        route="POST company/{entry_id}/withdraw/",
        toolset="company",
        template="proposal_revised.md",
    ),
    Operation(
        name="memory_discuss_global",
        title="Comment on company knowledge",
        call=entry_details.comment,
        shape=CommentShape,
        route="POST company/{entry_id}/comments/",
        toolset="company",
        template="comment.md",
    ),
    Operation(
        name="memory_list_queue",
        title="List the review queue",
        call=queue.list_queue,
        shape=WaitingPageShape,
        route="GET company/queue/",
        toolset="company",
        scope="curate",
        template="queue.md",
    ),
    Operation(
        name="memory_brief_curator",
        title="Brief a curator",
        call=briefing.brief,
        shape=reply_of(briefing.Briefing, _OF_ENTRIES, without=["last"]),
        route="GET company/{entry_id}/briefing/",
        toolset="company",
        scope="curate",
        template="briefing.md",
        is_slow=True,
    ),
    Operation(
        name="memory_claim_global",
        title="Claim an entry of the queue",
        call=claims.claim_entry,
        shape=ClaimShape,
        route="POST company/{entry_id}/claim/",
        toolset="company",
        scope="curate",
        idempotent=True,
        template="claim.md",
    ),
    Operation(
        name="memory_approve_global",
        title="Decide on company knowledge",
        call=deciding.approve_global,
        shape=_OF_ENTRIES[deciding.Decision],
        route="POST company/{entry_id}/decide/",
        toolset="company",
        scope="curate",
        template="decision.md",
    ),
    Operation(
        name="memory_approve_many",
        title="Decide on many at once",
        call=deciding.decide_many,
        shape=reply_of(deciding.Decisions, _OF_ENTRIES),
        route="POST company/decide/",
        toolset="company",
        scope="curate",
        template="decisions.md",
    ),
    Operation(
        name="golden_pin",
        title="Pin a golden question",
        call=golden_questions.pin_golden_question,
        shape=GoldenQuestionShape,
        route="POST golden/",
        toolset="company",
        scope="curate",
        idempotent=True,
        template="golden_question.md",
    ),
    Operation(
        name="golden_list",
        title="List golden questions",
        call=golden_questions.list_golden_questions,
        shape=GoldenQuestionsShape,
        route="GET golden/",
        toolset="company",
        scope="curate",
        template="golden_questions.md",
    ),
    Operation(
        name="golden_check",
        title="Check golden questions now",
        call=golden_questions.check_golden_questions,
        shape=reply_of(
            golden_questions.GoldenCheck,
            {GoldenQuestion: GoldenQuestionShape},
            held=Annotated[int, Field(description="How many found their item.")],
        ),
        route="POST golden/check/",
        toolset="company",
        scope="curate",
        idempotent=True,
        template="golden_check.md",
        is_slow=True,
    ),
    Operation(
        name="golden_unpin",
        title="Remove a golden question",
        call=golden_questions.unpin_golden_question,
        shape=GoldenQuestionShape,
        route="DELETE golden/{golden_id}/",
        toolset="company",
        scope="curate",
        template="golden_unpinned.md",
    ),
    Operation(
        name="anchors_list",
        title="List what cites code",
        call=anchor_reports.list_anchors,
        shape=AnchoredItemsShape,
        route="GET anchors/",
        toolset="company",
        template="anchors.md",
    ),
    Operation(
        name="anchors_report",
        title="Report a check of code",
        call=anchor_reports.report_anchors,
        shape=AnchorReportShape,
        route="POST anchors/report/",
        toolset="company",
        idempotent=True,
        template="anchor_report.md",
    ),
    Operation(
        name="memory_forget_source",
        title="Forget what a source wrote",
        call=forgetting.forget_source,
        shape=forgetting.Forgotten,
        route="POST forget/",
        toolset="admin",
        other_effect=Effect.DESTROY,
        idempotent=True,
        template="forgotten.md",
        is_slow=True,
    ),
)
