"""Dates in words for every argument that takes a moment, in eight languages: understood, or refused, never misread."""

from datetime import UTC, datetime

import pytest
from django.utils import timezone
from pydantic import TypeAdapter, ValidationError

from bigmind.core.argument_types import From, Since, Until
from bigmind.core.errors import Invalid
from bigmind.operations import CATALOGUE
from bigmind.text.periods import read_period

SINCE, FROM, UNTIL = TypeAdapter(Since), TypeAdapter(From), TypeAdapter(Until)


@pytest.fixture(autouse=True)
def _a_saturday(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 11, 28, 12, 30, tzinfo=UTC))


LAST_DAYS = {
    "2026-12-06": (
        "end of next week | Ende nächster Woche | fin de la semaine prochaine | fin de la próxima semana | "
        "fine della prossima settimana | fim da próxima semana | next week | nächste Woche | "
        "la semaine prochaine | la semana que viene | la settimana prossima | semana que vem | 下周 | 来週"
    ),
    "2026-12-01": (
        "in 3 days | in drei Tagen | dans 3 jours | d'ici 3 jours | en tres días | fra tre giorni | em 3 dias | "
        "daqui a 3 dias | 三天后 | 3日後 | for 3 days | the next 3 days"
    ),
    "2026-12-12": "2 weeks from now | within two weeks | 两周后 | 2週間後",
    "2026-11-29": "tomorrow | morgen | demain | mañana | domani | amanhã | 明天 | 明日 | fin de semana",
    "2026-11-30": (
        "übermorgen | après-demain | pasado mañana | dopodomani | depois de amanhã | 后天 | 明後日 | "
        "end of the month | Monatsende | 月底"
    ),
    "2026-12-04": (
        "next Friday | nächsten Freitag | vendredi prochain | el viernes que viene | venerdì prossimo | "
        "próxima sexta-feira | 下周五 | 来週の金曜日 | Friday | bis Freitag | Friday next week | Freitag nächster Woche"
    ),
    "2027-03-31": (
        "end of March | Ende März | fin de mars | fin mars | a finales de marzo | fine marzo | fim de março | "
        "三月底 | 3月末 | next quarter | Q1 2027 | 2027-03"
    ),
    "2027-05-31": "May",
    "2028-03-31": "March 2028 | 2028年3月",
    "2027-03-03": (
        "3 mars 2027 | 3. März 2027 | 3 de marzo de 2027 | il 3 marzo | 2027年3月3日 | Wednesday, 3 March 2027"
    ),
    "2027-05-01": "1er mai 2027",
    "2026-12-31": "next month | le mois prochain | 下个月 | 来月 | end of the year | 年末",
    "2027-12-31": "next year | 2027",
    "2027-03-30": "2027-03-30 | 30.3.2027",
    "2026-11-28": "today",
    "2026-11-27": "yesterday | hier",
}


@pytest.mark.parametrize(("last", "ways"), LAST_DAYS.items())
def test_what_ends_in_words_ends_with_the_last_moment_of_that_day(last: str, ways: str) -> None:
    moments = {said: UNTIL.validate_python(said).isoformat() for said in ways.split(" | ")}

    assert {said: moment for said, moment in moments.items() if moment != f"{last}T23:59:59.999999+00:00"} == {}


@pytest.mark.parametrize(
    ("today", "said", "one", "other"),
    [
        (25, "next Friday", "2026-11-27", "2026-12-04"),
        (25, "nächsten Freitag", "2026-11-27", "2026-12-04"),
        (25, "vendredi prochain", "2026-11-27", "2026-12-04"),
        (25, "próximo fin de semana", "2026-11-28", "2026-12-05"),
        (27, "Friday", "2026-11-27", "2026-12-04"),
        (28, "this Tuesday", "2026-11-24", "2026-12-01"),
        (28, "05/06/2027", "2027-05-06", "2027-06-05"),
    ],
)
def test_what_may_mean_two_days_is_refused_with_both(
    monkeypatch: pytest.MonkeyPatch, today: int, said: str, one: str, other: str
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime(2026, 11, today, 12, 30, tzinfo=UTC))

    with pytest.raises(ValidationError, match=rf"{one} or {other}"):
        UNTIL.validate_python(said)


@pytest.mark.parametrize(
    "said",
    [
        "soon", "bald", "later", "Christmas", "EOD", "Anfang März", "mid-March", "début mars", "after the release",
        "mar", "do", "so", "10", "1.5", "the deadline", "春节", "下下周", "今度の金曜日", "quinze jours",
        "30 February 2027", "Friday, 3 March 2027", "never", "next", "in days", "for ever", "week", "Monday or Tuesday",
        "二", "月", "13月", "両",
    ],
)  # fmt: skip
def test_anything_else_is_refused_with_an_example_that_is_no_value(said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        CATALOGUE["memory_store_fact"].accept({"fact": "x", "category": "decision", "valid_until": said})

    assert "YYYY-MM-DD" in str(refusal.value) or "may mean" in str(refusal.value)


def test_one_side_of_today_is_meant_by_where_it_is_said() -> None:
    assert SINCE.validate_python("Friday").date().isoformat() == "2026-11-27"
    assert SINCE.validate_python("letzten Freitag").date().isoformat() == "2026-11-27"
    assert SINCE.validate_python("le mois dernier").date().isoformat() == "2026-10-01"
    assert SINCE.validate_python("上周").date().isoformat() == "2026-11-16"
    assert SINCE.validate_python("il y a 3 jours").date().isoformat() == "2026-11-25"
    assert SINCE.validate_python("hace dos semanas").date().isoformat() == "2026-11-14"
    assert SINCE.validate_python("vor 2 Wochen").date().isoformat() == "2026-11-14"
    assert SINCE.validate_python("3日前").date().isoformat() == "2026-11-25"
    assert FROM.validate_python("seit März").date().isoformat() == "2026-03-01"
    assert FROM.validate_python("tomorrow").date().isoformat() == "2026-11-29"
    with pytest.raises(ValidationError, match="2026-03-01 or 2027-03-01"):
        FROM.validate_python("March")


def test_an_exact_moment_stays_exact() -> None:
    assert UNTIL.validate_python("2027-03-30T09:15:00Z").isoformat() == "2027-03-30T09:15:00+00:00"


def test_no_period_that_lies_ahead_in_words_is_read_into_the_past() -> None:
    for said in (
        "next week",
        "next month",
        "next year",
        "tomorrow",
        "in 2 weeks",
        "end of next month",
        "来月",
        "下周五",
    ):
        period = read_period(said, towards="future")
        assert period
        assert period.end > timezone.now()
