"""The page of the weekly letter."""

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.authentication import actor_of
from bigmind.core.live_settings import live
from bigmind.core.operations import carry_out
from bigmind.web.pages import own_page
from curation.notifications.digests import subscription_of
from curation.notifications.weekly_mail import say_days, say_weekday
from curation.services.weekly_letter import DAYS, WeeklyLetter, write_weekly_letter


@own_page
@require_safe
def letter(request: HttpRequest) -> HttpResponse:
    """Show the letter of the last seven days, or of those until the day that the address names."""
    actor = actor_of(request)
    until = request.GET.get("until", "").strip()
    written: WeeklyLetter = carry_out(write_weekly_letter, actor, {"until": until} if until else {})
    later = written.last + timedelta(days=DAYS)
    context = {
        "letter": written,
        "days": say_days(written),
        "earlier": written.last - timedelta(days=DAYS),
        "later": min(later, timezone.localdate()) if written.last < timezone.localdate() else None,
        "sends_mail": bool(settings.EMAIL_HOST),
        "is_mailed": subscription_of(actor.user).letter,
        "weekday": say_weekday(),
        "hour": live.LETTER_HOUR,
    }
    return render(request, "curation/letter.html", context)
