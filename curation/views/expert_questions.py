"""The pages of questions to colleagues: ask, answer, decline, withdraw; and propose an answer to everyone."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.actor import Actor
from accounts.authentication import actor_of
from bigmind.core.errors import Conflict, Invalid, TooMany
from bigmind.core.operations import carry_out
from bigmind.core.pagination import page_of
from bigmind.core.sentences import in_language
from bigmind.core.translation import _, gettext_lazy
from bigmind.web.forms import OperationForm, TextField, form_data
from bigmind.web.pages import offset_in, own_page, tell
from curation.argument_types import TITLE_CHARS
from curation.proposals.proposals import promote_to_global
from knowledge.models import ExpertQuestion, ExpertQuestionState
from knowledge.services.expert_questions import (
    answer_question,
    ask_expert,
    decline_question,
    find_person_to_ask,
    note_filed,
    read_question,
    withdraw_question,
)

SHOWN = 30


class ExpertQuestionForm(OperationForm):
    """Asks a colleague."""

    question = TextField(
        label=gettext_lazy("Your question"),
        help_text=gettext_lazy("Up to 2,000 characters. Only the two of you see it."),
    )


class AnswerForm(OperationForm):
    """Answers a question."""

    answer = TextField(
        rows=8,
        label=gettext_lazy("Your answer"),
        help_text=gettext_lazy("Up to 4,000 characters. Only the two of you see it, until you propose it."),
    )


@own_page
@require_safe
def questions(request: HttpRequest) -> HttpResponse:
    """List the questions that someone asked and was asked: what waits for their answer comes first."""
    actor = actor_of(request)
    rows = ExpertQuestion.objects.between(actor.user).select_related("user", "expert")
    waiting = rows.filter(expert=actor.user, state=ExpertQuestionState.OPEN).order_by("asked_at")
    others = rows.exclude(pk__in=waiting.values("pk")).order_by("-asked_at", "pk")
    page = page_of(others, limit=SHOWN, offset=offset_in(request))
    return render(request, "curation/questions.html", {"waiting": waiting[:SHOWN], "page": page})


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def ask(request: HttpRequest, username: str) -> HttpResponse:
    """Ask a colleague; those who share nothing are answered like those who do not exist."""
    actor = actor_of(request)
    found = find_person_to_ask(actor.user, username)
    expert = found.user
    form = ExpertQuestionForm(form_data(request), initial={"question": request.GET.get("question", "")[:2_000]})
    try:
        asked = form.carry_out(ask_expert, actor, username=expert.username)
    except TooMany as refusal:
        form.add_error(None, in_language(refusal.message))
        asked = None
    if asked:
        tell(
            request,
            _("%(expert)s was notified. You get the answer as a notice and in your notes.") % {"expert": expert},
        )
        return redirect("question", asked.pk)
    context = {"form": form, "expert": expert, "is_willing": found.is_willing}
    return render(request, "curation/question_ask.html", context, status=422 if form.is_bound else 200)


@own_page
@require_http_methods(["GET", "HEAD", "POST"])
def question(request: HttpRequest, asked_id: UUID) -> HttpResponse:
    """Show one question to the two whom it concerns; take the answer, or what else they do."""
    actor = actor_of(request)
    asked = read_question(actor, asked_id)
    sent = request.POST.get("do", "")
    form = AnswerForm(request.POST if sent == "answer" else None)
    refusal = ""
    try:
        if _act(request, actor, asked, form, sent):
            return redirect("questions" if sent in {"decline", "withdraw"} else request.path)
    except (Conflict, Invalid) as error:
        refusal = str(error)
    asked = read_question(actor, asked_id)
    context = {"asked": asked, "is_asker": asked.user_id == actor.user.pk, "form": form, "refusal": refusal}
    status = 409 if refusal else 422 if form.errors else 200
    return render(request, "curation/question.html", context, status=status)


def _act(request: HttpRequest, actor: Actor, asked: ExpertQuestion, form: AnswerForm, sent: str) -> bool:
    """Do what a button says; return false if nothing was sent, or if a field was refused."""
    if sent == "answer":
        if not form.carry_out(answer_question, actor, question_id=asked.pk):
            return False
        tell(request, _("%(user)s was notified.") % {"user": asked.user})
        return True
    if sent == "decline":
        decline_question(actor, question_id=asked.pk)
        tell(request, _("%(user)s was told that you have no answer.") % {"user": asked.user})
        return True
    if sent == "withdraw":
        withdraw_question(actor, question_id=asked.pk)
        tell(request, _("Withdrawn."))
        return True
    if sent == "file":
        return _file(request, actor, asked)
    return False


def _file(request: HttpRequest, actor: Actor, asked: ExpertQuestion) -> bool:
    """Propose an answer to everyone: a curator reviews it as any proposal, and sees what it answers."""
    if asked.expert_id != actor.user.pk or asked.state != ExpertQuestionState.ANSWERED or asked.entry_id:
        raise Conflict(_("Only an answer of yours can be proposed, once."))
    said = {
        "category": "pattern",
        "title": asked.text.split("\n", 1)[0][:TITLE_CHARS],
        "content": asked.answer,
        "evidence": f"{asked.expert} answered this to a colleague who asked: {asked.text}",
        "origin": "user",
    }
    made = carry_out(promote_to_global, actor, said)
    note_filed(actor, asked.pk, made.entry)
    tell(request, _("Proposed as %(handle)s. A curator decides.") % {"handle": made.entry.handle})
    return True
