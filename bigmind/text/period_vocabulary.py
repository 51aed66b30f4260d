"""Period words: how eight languages name days, weeks and months, each as the English words that `periods` reads.

A table has an English meaning with a colon, then the words for it; `_` joins the words of a phrase, and `-` has those
that say nothing here. A text is read in each language that knows all its words: none has to be recognised first.
"""

import re
from collections.abc import Iterator

from bigmind.text.hygiene import without_accents
from bigmind.text.words import WORD

MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()  # noqa: SIM905
_LONGEST_PHRASE = 4
_EAST = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")

_EUROPEAN = {
    "en": """
        january: jan january | february: feb february | march: mar march | april: apr april | may: may | june: jun june
        july: jul july | august: aug august | september: sep sept september | october: oct october
        november: nov november | december: dec december | monday: mon monday | tuesday: tue tues tuesday
        wednesday: wed wednesday | thursday: thu thur thurs thursday | friday: fri friday | saturday: sat saturday
        sunday: sun sunday | today: today | yesterday: yesterday | tomorrow: tomorrow | now: now
        ereyesterday: the_day_before_yesterday day_before_yesterday
        overmorrow: the_day_after_tomorrow day_after_tomorrow
        last: last past previous | next: next | coming: coming upcoming | this: this | ago: ago
        in: in within hence from_now | minute: min mins minute minutes | hour: hr hrs hour hours | day: day days
        week: week weeks | month: month months | year: year years | quarter: quarter quarters
        weekend: weekend weekends | end: end
        1: a an one | 0: zero | 2: two | 3: three | 4: four | 5: five | 6: six | 7: seven
        8: eight | 9: nine | 10: ten | 11: eleven | 12: twelve | -: on of the from during at for by until till to and
        since: since
    """,
    "de": """
        january: januar jänner jan | february: februar feb | march: märz maerz | april: april apr | may: mai
        june: juni jun | july: juli jul | august: august aug | september: september sept | october: oktober okt
        november: november nov | december: dezember dez | monday: montag | tuesday: dienstag | wednesday: mittwoch
        thursday: donnerstag | friday: freitag | saturday: samstag sonnabend | sunday: sonntag
        today: heute | yesterday: gestern | tomorrow: morgen | now: jetzt | ereyesterday: vorgestern
        overmorrow: übermorgen uebermorgen
        last: letzte letzten letzter letztes letztem vorige vorigen voriger voriges vergangene vergangenen vergangener
        next: nächste nächsten nächster nächstes nächstem naechste naechsten naechster
        coming: kommende kommenden kommender kommendes | this: diese diesen dieser dieses diesem | ago: vor
        in: in binnen innerhalb | minute: minute minuten | hour: stunde stunden | day: tag tage tagen tages
        week: woche wochen | month: monat monate monaten monats | year: jahr jahre jahren jahres
        quarter: quartal quartals | weekend: wochenende wochenenden | end: ende
        end_month: monatsende | end_year: jahresende | end_quarter: quartalsende
        1: ein eine einen einer einem eins | 2: zwei | 3: drei | 4: vier | 5: fünf fuenf
        6: sechs | 7: sieben | 8: acht | 9: neun | 10: zehn | 11: elf | 12: zwölf zwoelf
        -: am im den dem der die das des von vom zum bis ab für während um | since: seit
    """,
    "fr": """
        january: janvier | february: février fevr | march: mars | april: avril | may: mai | june: juin | july: juillet
        august: août | september: septembre | october: octobre | november: novembre | december: décembre
        monday: lundi | tuesday: mardi mar | wednesday: mercredi | thursday: jeudi | friday: vendredi
        saturday: samedi | sunday: dimanche | today: aujourd_hui aujourdhui | yesterday: hier | tomorrow: demain
        now: maintenant | ereyesterday: avant_hier | overmorrow: après_demain
        last: dernier dernière derniers dernières passé passée | next: prochain prochaine prochains prochaines
        coming: qui_vient | this: ce cet cette | ago: il_y_a | in: dans d_ici d_ici_à | minute: minute minutes
        hour: heure heures | day: jour jours | week: semaine semaines | month: mois | year: an ans année années
        quarter: trimestre | weekend: week_end | end: fin | 1: un une 1er premier | 2: deux | 3: trois | 4: quatre
        5: cinq | 6: six | 7: sept | 8: huit | 9: neuf | 10: dix | 11: onze | 12: douze
        -: le la les l du de des d en au à jusqu jusque | since: depuis
    """,
    "es": """
        january: enero | february: febrero | march: marzo | april: abril | may: mayo | june: junio | july: julio
        august: agosto | september: septiembre setiembre | october: octubre | november: noviembre
        december: diciembre | monday: lunes | tuesday: martes mar | wednesday: miércoles | thursday: jueves
        friday: viernes | saturday: sábado | sunday: domingo | today: hoy | yesterday: ayer | tomorrow: mañana
        now: ahora | ereyesterday: anteayer antes_de_ayer | overmorrow: pasado_mañana
        last: último última últimos últimas pasado pasada pasados pasadas
        next: próximo próxima próximos próximas siguiente siguientes | coming: que_viene | this: este esta estos estas
        ago: hace | in: en dentro_de | minute: minuto minutos | hour: hora horas | day: día días
        week: semana semanas | month: mes meses | year: año años | quarter: trimestre
        weekend: fin_de_semana | end: fin final fines finales | 1: un una uno primero | 2: dos | 3: tres | 4: cuatro
        5: cinco | 6: seis | 7: siete | 8: ocho | 9: nueve | 10: diez | 11: once | 12: doce
        -: el la los las de del al a hasta | since: desde
    """,
    "it": """
        january: gennaio | february: febbraio | march: marzo | april: aprile | may: maggio | june: giugno
        july: luglio | august: agosto | september: settembre | october: ottobre | november: novembre
        december: dicembre | monday: lunedì | tuesday: martedì mar | wednesday: mercoledì | thursday: giovedì
        friday: venerdì | saturday: sabato | sunday: domenica | today: oggi | yesterday: ieri | tomorrow: domani
        now: adesso ora | ereyesterday: l_altro_ieri ieri_l_altro | overmorrow: dopodomani
        last: scorso scorsa scorsi scorse ultimo ultima ultimi ultime passato passata
        next: prossimo prossima prossimi prossime | this: questo questa | ago: fa
        in: fra tra entro | minute: minuto minuti | hour: ore | day: giorno giorni | week: settimana settimane
        month: mese mesi | year: anno anni | quarter: trimestre | weekend: fine_settimana weekend
        end: fine | 1: un uno una primo | 2: due | 3: tre | 4: quattro | 5: cinque | 6: sei | 7: sette | 8: otto
        9: nove | 10: dieci | 11: undici | 12: dodici
        -: il lo la i gli le l di del della dell nel a al alla fino in | since: da dal dalla
    """,
    "pt": """
        january: janeiro | february: fevereiro | march: março | april: abril | may: maio | june: junho | july: julho
        august: agosto | september: setembro | october: outubro | november: novembro | december: dezembro
        monday: segunda segunda_feira | tuesday: terça terça_feira | wednesday: quarta quarta_feira
        thursday: quinta quinta_feira | friday: sexta sexta_feira | saturday: sábado | sunday: domingo
        today: hoje | yesterday: ontem | tomorrow: amanhã | now: agora | ereyesterday: anteontem antes_de_ontem
        overmorrow: depois_de_amanhã | last: último última últimos últimas passado passada passados passadas
        next: próximo próxima próximos próximas | coming: que_vem | this: este esta neste nesta deste desta
        ago: há atrás | in: em dentro_de daqui_a | minute: minuto minutos | hour: hora horas | day: dia dias
        week: semana semanas | month: mês meses | year: ano anos | quarter: trimestre
        weekend: fim_de_semana | end: fim final | 1: um uma primeiro | 2: dois duas | 3: três | 4: quatro | 5: cinco
        6: seis | 7: sete | 8: oito | 9: nove | 10: dez | 11: onze | 12: doze
        -: o a os as de do da no na ao à até | since: desde
    """,
}
"""A lone `mar` is a month in English and a Tuesday in three languages, so it is refused. In Italian `in` says nothing;
in English, German, Spanish and Portuguese the word for it also stands before a length of time: “in 3 days”."""

_EASTERN = """
    today: 今天 今日 本日 | yesterday: 昨天 昨日 | tomorrow: 明天 明日 | overmorrow: 后天 後天 明後日 あさって
    ereyesterday: 前天 一昨日 おととい | now: 现在 現在 今
    next_week: 下周 下週 下星期 下个星期 下個星期 下礼拜 来週 來週
    this_week: 本周 本週 这周 這週 这个星期 這個星期 这星期 今週
    last_week: 上周 上週 上星期 上个星期 上個星期 先週 | next_month: 下个月 下個月 下月 来月 來月
    this_month: 本月 这个月 這個月 今月 | last_month: 上个月 上個月 上月 先月 | next_year: 明年 来年 來年
    this_year: 今年 本年 | last_year: 去年 昨年 | weekend: 周末 週末 | this_weekend: 这周末 這週末 本周末 本週末 今週末
    next_week_weekend: 下周末 下週末 来週末 | end_month: 月底 月末 | end_year: 年底 年末 年终
    end_this_year: 今年年底 今年年末 | end_next_year: 明年年底 来年末 | end: 底 末
    end_this_month: 本月底 本月末 今月末 | end_next_month: 下月底 下个月底 来月末
    monday: 月曜日 月曜 | tuesday: 火曜日 火曜 | wednesday: 水曜日 水曜 | thursday: 木曜日 木曜 | friday: 金曜日 金曜
    saturday: 土曜日 土曜 | sunday: 日曜日 日曜
    day_in: 天后 天後 天之后 天以后 日后 日後 天内 日以内
    week_in: 周后 週後 周之后 周以后 週間後 个星期后 個星期後 星期后 周内
    month_in: 个月后 個月後 个月以后 か月後 ヶ月後 カ月後 ヵ月後 月后 | year_in: 年后 年後
    hour_in: 小时后 小時後 个小时后 時間後 | minute_in: 分钟后 分鐘後 分後
    day_ago: 天前 日前 | week_ago: 周前 週前 週間前 个星期前 個星期前 | month_ago: 个月前 個月前 か月前 ヶ月前 カ月前
    year_ago: 年前 | hour_ago: 小时前 小時前 時間前 | minute_ago: 分钟前 分鐘前 分前
    since: 从 自 以来 以來 から | -: の 的 まで に 到 至 直到 は
"""
_EASTERN_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")}
_EASTERN_NUMBERS = frozenset("零一二三四五六七八九十两兩")
_EASTERN_UNITS = {"年": "Y", "月": "M", "日": "D", "号": "D", "號": "D"}


def _entries(table: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    meaning: tuple[str, ...] = ()
    for word in table.replace("|", " ").split():
        if word.endswith(":"):
            meaning = () if word == "-:" else tuple(word[:-1].split("_"))
        else:
            yield without_accents(word.replace("_", " ")), meaning


def _eastern_entries() -> Iterator[tuple[str, tuple[str, ...]]]:
    yield from _entries(_EASTERN)
    weeks = [(word, meaning) for word, meaning in _entries(_EASTERN) if len(meaning) == 2 and meaning[1] == "week"]
    for number, char in [*enumerate("一二三四五六日"), (6, "天")]:
        for word, meaning in [*weeks, *((bare, ()) for bare in ("周", "週", "星期", "礼拜", "禮拜"))]:
            yield word + char, (*meaning, DAYS[number])


WORDS = {language: dict(_entries(table)) for language, table in _EUROPEAN.items()}
_EAST_WORDS = dict(_eastern_entries())
_LONGEST_EASTERN = max(map(len, _EAST_WORDS))


def meanings_of(text: str) -> list[list[str]]:
    """Return what a text says in each language that knows all its words, each meaning once.

    Words that say nothing are left out, and numbers are written in digits. The list is empty where no language knows
    them all.
    """
    spelt = without_accents(text)
    if _EAST.search(spelt):
        found = [_read_eastern(spelt)]
    else:
        words = WORD.findall(spelt)
        found = [read_words(words, table) for table in WORDS.values()]
    return [list(one) for one in dict.fromkeys(tuple(read) for read in found if read)]


def read_words(words: list[str], table: dict[str, tuple[str, ...]]) -> list[str] | None:
    """Return what words mean in the language of a table; None where it lacks one. The longest phrase goes first."""
    meant: list[str] = []
    place = 0
    while place < len(words):
        for length in range(min(_LONGEST_PHRASE, len(words) - place), 0, -1):
            if (meaning := table.get(" ".join(words[place : place + length]))) is not None:
                break
        else:
            length, meaning = 1, _read_number(words[place])
            if meaning is None:
                return None
        meant += meaning
        place += length
    return meant


def _read_number(word: str) -> tuple[str, ...] | None:
    digits = word[:-2] if word[-2:] in {"st", "nd", "rd", "th"} else word
    if digits.isdecimal() and len(digits) <= 6:
        return (digits,)
    return (word,) if len(word) == 2 and word[0] == "q" and word[1] in "1234" else None


def _read_eastern(text: str) -> list[str] | None:
    meant: list[str] = []
    place, is_counted = 0, False
    while place < len(text):
        if text[place].isspace() or text[place] in ",.、，。-":
            place += 1
            continue
        length, meaning = _match_eastern(text, place, is_counted=is_counted)
        if not length:
            return None
        # “3月” is March, and “3日” the third.
        if meaning == ("M",):
            month = int(meant.pop())
            if not 0 < month <= 12:
                return None
            meaning = (MONTHS[month - 1],)
        meant += meaning if meaning not in (("Y",), ("D",)) else ()
        is_counted = len(meaning) == 1 and meaning[0].isdecimal()
        place += length
    return meant


def _match_eastern(text: str, place: int, *, is_counted: bool) -> tuple[int, tuple[str, ...]]:
    """Return how many characters the next word has, and what it means; 0 where there is none."""
    for length in range(min(_LONGEST_EASTERN, len(text) - place), 0, -1):
        meaning = _EAST_WORDS.get(text[place : place + length])
        if meaning is not None and (not is_counted or meaning[-1:] in (("in",), ("ago",))):
            return length, meaning
    if is_counted and text[place] in _EASTERN_UNITS:
        return 1, (_EASTERN_UNITS[text[place]],)
    end = place
    while end < len(text) and end - place < 6 and (text[end].isdecimal() or text[end] in _EASTERN_NUMBERS):
        end += 1
    number = "" if is_counted else _eastern_number(text[place:end])
    return (end - place, (number,)) if number else (0, ())


def _eastern_number(chars: str) -> str:
    """Return the digits of a number up to 99: “十二”, “二十一”, “30”."""
    if chars.isdecimal() and chars.isascii():
        return chars
    tens, ten, ones = chars.replace("两", "二").replace("兩", "二").partition("十")
    digits = [_EASTERN_DIGITS.get(part) for part in (tens, ones) if part]
    if None in digits or (not ten and not tens):
        return ""
    if not ten:
        return str(digits[0])
    return str((_EASTERN_DIGITS[tens] if tens else 1) * 10 + (_EASTERN_DIGITS[ones] if ones else 0))
