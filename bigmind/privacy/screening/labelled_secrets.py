"""Labelled secrets, such as `DB_PASSWORD=…` or “the API key is …”, and those in addresses, headers, command lines."""

import re
from binascii import a2b_base64
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from .values import Secret, has_any, is_mixed, is_password, is_placeholder, is_plain, is_stand_in, is_token

NEAR_CHARS = 100
VALUE_CHARS = 400
PASSWORD_CHARS = 128
REACH_CHARS = 1_200
"""How far from a name the beginning of its value is looked for."""
SPOKEN_CHARS = 300
"""How far from a name the word is that says what it is: seven words lie between them at most."""
_PASSWORDS = (
    r"pass(?:word|phrase|code|wd|wort)?|pwd|psw|kennwort|contrase(?:ñ|n)a|mot de passe|senha|wachtwoord|parola|hasło"
    r"|(?<![a-z])pw(?![a-z])|пароль|密码|密碼|パスワード|비밀번호"
)
_KEYS = (
    r"(?:api|app|application|access|account|admin|aes|auth|authentication|client|consumer|cookie|crypt(?:o|ion)?|deploy"
    r"|django|encrypt(?:ion)?|fernet|flask|function|hmac|host|ingest(?:ion)?|integration|jwt|licen[cs]e|master|private"
    r"|project|rest|root|sas|secret|security|server|service|session|shared[_. -]?access|signing|ssh|storage"
    r"|subscription|webhook|write|read|push|rpc|relay|hash)[_. -]?key"
    r"|secret(?:[_. -]?(?:access[_. -]?)?key(?:[_. -]?base)?)?"
    r"|(?:access[_. -]?|auth[_. -]?)?token|credentials?|_auth|(?:seed|recovery|mnemonic|secret)[_. -]?phrase|mnemonic"
    r"|schlüssel|clave|chave|ключ|токен|密钥|令牌|dsn"
)
_NAME = re.compile(rf"(?P<password>{_PASSWORDS})|(?P<key>{_KEYS})|(?P<bare>key)")
# One of these is in every name above: most texts have none, and are done with.
_STEMS = (
    "pass", "pw", "key", "token", "secret", "credential", "_auth", "phrase", "mnemonic", "psw", "dsn", "kennwort",
    "contrase", "senha", "wachtwoord", "parola", "hasło", "schlüssel", "clave", "chave", "пароль", "ключ", "токен",
    "密", "令牌", "パスワード", "비밀번호",
)  # fmt: skip
_BEFORE_CHARS = 14
_ALONE = "max min num pad eos bos unk sep mask sync per input output total prompt completion stop special resume delta"
_OTHERS_BEFORE = (
    "|".join(word[::-1] for word in words.split())
    for words in ("page next cursor", f"{_ALONE} reset public", "com by sur tres under over encom")
)
# It is applied to what stands before a name, read backwards: that is one try instead of one at every character.
_NO_SECRET_BEFORE = re.compile(r"[_. -]?(?:{}|\w{{0,6}}(?:unitnoc|lecnac)|(?:{})(?![a-z]))|{}".format(*_OTHERS_BEFORE))
# A name may go on so and still name the secret; anything else (`token_type`, `password_hash`) names another thing.
_ENDING = (
    r"(?:[_. -]?(?:value|text|plain|plaintext|string|str|prod\w{0,7}|dev\w{0,8}|staging|live|test|old|new|current"
    r"|primary|secondary|default|raw|base64|b64|hex|env|[a-z]{0,2}\d{1,3}))?"
)
_QUOTES = r"(?:\\?[\"'`*_\])}]){0,4}"
_TYPE = r"(?:\s{0,3}:\s{0,3}[\w\[\]<>|&*. ]{1,40}?(?=\s{0,3}=))?"
_OPEN = r"(?P<quote>\\?[\"'`]{1,3}|\*{2}|<(?=string>))?(?:string>)?"
_BARE_VALUE = r"(?:[^\s\"'`<>,;&|\\]|[,;&|](?!\s|\Z|[\w.-]{1,40}[=:]|[,;&|\"']))"
_VALUE = rf"(?=(?(quote)[^\n\"'`]|{_BARE_VALUE}))"
"""Where a value begins. `_Values` says where it ends."""
_LONG_ENOUGH = rf"(?=(?(quote)[^\n\"'`]{{6}}|{_BARE_VALUE}{{6}}))"
"""No secret is shorter. What stands before it is atomic: a value that is too short is not looked for elsewhere."""
_QUOTED = re.compile(rf"[^\n\"'`]{{1,{VALUE_CHARS}}}")
# No password and no token is without a digit, a capital or a symbol; those in other scripts count as such.
_SIGN = re.compile(r"[^a-z\s\"'`()\[\]{}<>,.;:/|\\_-]")
_BARE = re.compile(rf"(?>(?:[^\s\"'`<>,;&|\\]++|{_BARE_VALUE})+)")
_BLOCK = r"(?:[|>][-+]?\s{1,40})?"
_ASSIGNED = re.compile(
    rf"(?>{_ENDING}{_QUOTES}(?:\s?\([^()\n]{{1,40}}\)){{0,1}}{_QUOTES}{_TYPE}\s{{0,20}}"
    r"(?:"
    r",?\s{0,40}-?\s{0,4}\\?[\"']?value\\?[\"']?\s{0,4}[:=]\s{0,4}"
    r"|(?::=|=>|={1,3}|:|->|→|\?=|\|\||\|)\*{0,2}[ \t]{0,20}(?:\r?\n\s{1,40})?"
    r"|,\s{0,4}(?=\\?[\"'])|>(?=[^\s<])"
    rf"){_BLOCK}{_OPEN}{_VALUE}){_LONG_ENOUGH}"
)
_BEING, _SAYING = "is|was|are|be|got|has been|gets", "set|changed|to|equals|as|ist|lautet|est|es|became|это"
_VERB = (
    rf"(?:(?:{_BEING})(?:\s(?:now|still|currently|just|been))?"
    rf"(?:\s(?:changed|set|reset|rotated|updated|renewed)\sto)?|(?:{_SAYING})(?:\sto)?)"
)
# Every match of `_SPOKEN` has one of these: where none is near, a text that only names secrets is done with.
_SAID = re.compile(rf"[:=]\*{{0,2}}\s|\s(?:{_BEING}|{_SAYING})[\s*]")
_LONG = r"[^\s:=]{32}"
_SPOKEN = re.compile(
    rf"(?>{_ENDING}{_QUOTES}(?P<between>(?:\s{{1,3}}(?!{_LONG})[\w(/@#&+](?>(?:[\w'’/()#@&+-]++|\.(?=\w))*)){{0,7}}?)(?:\s{{1,3}}{_VERB}\s{{0,2}}[:=]?|\s?[:=])"
    rf"\*{{0,2}}\s{{1,3}}{_OPEN}{_VALUE}){_LONG_ENOUGH}"
)
_OF_A_PAGE = re.compile(r"\s\w{0,12}(?:[Pp]age|[Cc]ursor)")
_FOLLOWING = re.compile(rf"(?>{_ENDING}{_QUOTES}(?:[ \t]{{1,4}}|[ \t]?[(\[][ \t]?|=){_OPEN}{_VALUE}){_LONG_ENOUGH}")
_APP_PASSWORD = re.compile(r"[^\n]{0,30}?[:=\s][\"'`]?(?P<value>[a-z]{4}(?: [a-z]{4}){3})(?![ \w])")
_WORDS = re.compile(r"[^\n:]{0,30}?[:=]\s{0,4}[\"'`]?(?P<value>[a-z]{3,8}(?:[ ,]{1,2}[a-z]{3,8}){11,23})(?![\w])")
_TOKEN_NEAR = re.compile(r"(?<![\w/=.+-])[A-Za-z0-9_+/-]{24,200}={0,2}(?![\w/])")
_NOT_BETWEEN = re.compile(
    r"\b(?:commit|sha\w*|hash\w*|digest|checksum|integrity|image|fingerprint|id|trace|build|public|\w{0,12}(?:page|cursor)\w{0,12})\b"
)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,40}\Z")
# Nothing is given back: what follows each part is not in it, and an address may stand at every third character.
_USERINFO = re.compile(r"(?P<user>[^\s:@/\"'<>`|]{0,128}+)(?>(?::(?P<password>[^\s\"'`@]{1,256}+))?)@(?=[\w\[.{$(-])")
_PORT = re.compile(r"\d{1,5}(?:[/?#]|\Z)")
_AFTER_AT = re.compile(r"[^\s\"'`@/?#<>]{1,64}+@(?=[\w\[])")
_BEARER = re.compile(r"[Bb](?:earer|EARER)(?:\s{1,4}|%20)(?P<token>[A-Za-z0-9._~+/=:-]{16,4000})")
_BASIC = re.compile(r"[Bb](?:asic|ASIC)\s{1,4}(?P<token>[A-Za-z0-9+/]{8,800}={0,2})")
_SCHEMED = re.compile(
    r"[Aa](?:uthorization|UTHORIZATION)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:[A-Za-z][\w-]{1,24}\s{1,4})?"
    r"(?P<token>[\w.~+/=:-]{16,2000})"
)
_COMMANDS = [
    (needle, re.compile(pattern))
    for needle, pattern in (
        (
            "curl",
            r"\bcurl\b[^\n|]{0,200}?\s(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"']{1,64}:(?P<p>[^\s\"']{4,128})",
        ),
        ("sshpass", r"\bsshpass\s{1,4}-p\s{0,4}[\"']?(?P<p>[^\s\"']{4,128})"),
        ("mysql", r"\bmysql\w{0,8}\b[^\n|;]{0,120}?\s-p[\"']?(?P<p>[^\s\"'-][^\s\"']{3,127})"),
        ("redis-cli", r"\bredis-cli\b[^\n|;]{0,120}?\s-a\s{1,4}[\"']?(?P<p>[^\s\"']{4,128})"),
        ("docker login", r"\bdocker login\b[^\n|;]{0,120}?\s-p\s{0,4}[\"']?(?P<p>[^\s\"']{4,128})"),
        (
            "htpasswd",
            r"\bhtpasswd\b[^\n|;]{0,80}?\s-\w{0,4}b\w{0,4}\s[^\n|;\s]{1,80}\s\S{1,40}\s(?P<p>[^\s\"']{4,128})",
        ),
        (" login ", r"\slogin\s{1,4}\S{1,80}\s{1,8}password\s{1,4}(?P<p>\S{4,128})"),
        (":", r"(?m)^[\w.*-]{1,100}:(?:\d{2,5}|\*):[\w*-]{1,60}:[\w.*-]{1,60}:(?P<p>\S{4,128})$"),
        (
            "@",
            r"(?<![\w:/.@-])[\w.-]{1,32}:(?=[^\s@]{0,63}[A-Z!#$%&*])(?P<p>[^\s:@/\"'`<>()]{6,64})@(?:\d{1,3}\.|[a-z0-9-]{1,60}(?:\.[a-z]|:\d))",
        ),
        (
            "red",
            r"\b[Cc]red(?:ential)?s?\b[^\n]{0,40}?[\s:\"'][\w.@-]{2,40}\s?[:/]\s?(?=[^\s]{0,63}[A-Z!#$%&*])(?P<p>[^\s\"'`]{6,64})",
        ),
        (
            "ogin",
            r"\b[Ll]ogin\b[^\n]{0,40}?[\s:\"'][\w.@-]{2,40}\s?[:/]\s?(?=[^\s]{0,63}[!#$%&*])(?P<p>[^\s\"'`]{6,64})",
        ),
    )
]
_SIGNED = re.compile(
    r"[?&](?:X-Amz-Signature|X-Amz-Security-Token|X-Goog-Signature|sig|signature|sv_sig|se_sig)=(?P<p>[\w%+/=-]{32,1000})"
)
# Sentry's DSN names a public key: it is made to stand in web pages.
_PUBLIC = re.compile(r"[\w.-]{0,60}(?:sentry\.|ingest\.)")


class _Named(NamedTuple):
    """A name that was found: what it names, and where it stands."""

    kind: str
    start: int
    end: int

    @property
    def is_password(self) -> bool:
        return self.kind == "password"


def find_named(text: str) -> Iterator[Secret]:
    """Find passwords, keys and tokens by the names that stand before them."""
    lowered = _lower(text)
    if has_any(lowered, _STEMS):
        values = _Values(text, lowered)
        for name in map(_read_name, _NAME.finditer(lowered)):
            if not _names_other(lowered, name):
                value, near = _find_value(values, name), values.near(name) if values.has_tokens else None
                yield from filter(None, (value, near))
    yield from _beside_access_keys(text)


def _lower(text: str) -> str:
    """Return the text in lower case with every character in its place: some grow when they are lowered."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def _read_name(match: re.Match[str]) -> _Named:
    """Say what a name names, in words; nothing for a “key” that may be of any kind."""
    start, end = match.span()
    if match.lastgroup != "key":
        return _Named("password" if match.lastgroup == "password" else "", start, end)
    kinds = ("token", "phrase", "secret", "credential")
    return _Named(next((kind for kind in kinds if kind in match[0]), "API key"), start, end)


def _names_other(lowered: str, name: _Named) -> bool:
    """Whether the words before a name say that it names no secret: a page token, a sort key."""
    return bool(_NO_SECRET_BEFORE.match(lowered[max(0, name.start - _BEFORE_CHARS) : name.start][::-1]))


class _Values:
    """What the names of a text may name. Each part of it is read once, however many names stand before it."""

    def __init__(self, text: str, lowered: str) -> None:
        self.text, self.lowered = text, lowered
        self.has_app = "app" in lowered
        self.has_tokens = bool(_TOKEN_NEAR.search(text))
        self._run = (0, 0)
        self._sign = self._said = -1
        self._mixed: dict[int, bool] = {}

    def may_follow(self, name: _Named) -> bool:
        """Whether a sign stands so near behind a name that its value may have it. Names are given in their order."""
        if self._sign < name.end:
            self._sign = self._next(_SIGN, name)
        return self._sign < name.end + REACH_CHARS + VALUE_CHARS

    def may_be_said(self, name: _Named) -> bool:
        """Whether a word or a sign stands so near behind a name that it may say what it is."""
        if self._said < name.end:
            self._said = self._next(_SAID, name)
        return self._said < name.end + SPOKEN_CHARS

    def _next(self, pattern: re.Pattern[str], name: _Named) -> int:
        found = pattern.search(self.text, name.end)
        return found.start() if found else len(self.text) + REACH_CHARS + VALUE_CHARS

    def after(self, match: re.Match[str]) -> str:
        """Return the value that begins after a match, without the punctuation of the sentence around it."""
        start = match.end()
        end = self._end_of_quoted(start) if match.start("quote") >= 0 else self._end_of_bare(start)
        return self.text[start : min(end, start + VALUE_CHARS)].rstrip(".,;:)]}*_ \\")

    def _end_of_quoted(self, start: int) -> int:
        quoted = _QUOTED.match(self.text, start)
        return quoted.end() if quoted else start

    def _end_of_bare(self, start: int) -> int:
        # It ends at the same place for each beginning within it.
        if not self._run[0] <= start < self._run[1]:
            bare = _BARE.match(self.text, start)
            self._run = (start, bare.end() if bare else start)
        return self._run[1]

    def near(self, name: _Named) -> Secret | None:
        """Find a long random token in the same line, a few words after the name."""
        for place in range(bisect_left(self._tokens, (name.end, 0)), len(self._tokens)):
            start, end = self._tokens[place]
            if start > name.end + NEAR_CHARS or "\n" in self.text[name.end : start]:
                return None
            # As in “The public key is ssh-ed25519 AAAA…”, which is a long random token near a name, and no secret.
            if _NOT_BETWEEN.search(self.lowered, name.end, start):
                return None
            if end - start >= (24 if name.kind else 32) and self._is_mixed(place):
                return Secret(name.kind or "key", start, end)
        return None

    def _is_mixed(self, place: int) -> bool:
        if place not in self._mixed:
            self._mixed[place] = is_mixed(self.text[slice(*self._tokens[place])])
        return self._mixed[place]

    @cached_property
    def _tokens(self) -> list[tuple[int, int]]:
        return [match.span() for match in _TOKEN_NEAR.finditer(self.text)]


def _find_value(values: _Values, name: _Named) -> Secret | None:
    if not name.kind:
        return None
    refused: tuple[int, int] | None = None
    for pattern in (_ASSIGNED, _SPOKEN, _FOLLOWING) if values.may_follow(name) else ():
        if pattern is _SPOKEN and not values.may_be_said(name):
            continue
        match = pattern.match(values.text, name.end, name.end + REACH_CHARS)
        if match is None or (pattern is _SPOKEN and _OF_A_PAGE.search(match["between"])):
            continue
        # Each pattern asks more of a value than the one before, so that the same one is asked once.
        before, refused = refused, (match.end(), match.start("quote"))
        value = values.after(match) if refused != before else ""
        if _is_secret(value, name, spoken=pattern is not _ASSIGNED, close=pattern is not _FOLLOWING):
            return Secret(name.kind, match.end(), match.end() + len(value))
        if refused == (name.end + 1, -1):
            break  # One sign and then the value: the other patterns find the same, or nothing.
    return _in_words(values, name) if values.has_app or name.kind == "phrase" else None


def _in_words(values: _Values, name: _Named) -> Secret | None:
    """Find what looks like words: the app passwords of mail providers, and the recovery phrases of wallets."""
    if name.is_password and "app" in values.lowered[max(0, name.start - 12) : name.end]:
        kind, match = "app password", _APP_PASSWORD.match(values.text, name.end)
    elif name.kind == "phrase":
        kind, match = "recovery phrase", _WORDS.match(values.text, name.end)
    else:
        return None
    if match and not _OF_SENTENCES & set(re.split("[ ,]+", match["value"])):
        return Secret(kind, *match.span("value"))
    return None


_OF_SENTENCES = frozenset(
    ("the", "and", "for", "with", "that", "this", "from", "your", "when", "must", "are", "was", "not")
)


def _is_secret(value: str, name: _Named, *, spoken: bool, close: bool = True) -> bool:
    # A text may name a password ten thousand times, each with a long value.
    if len(value) > PASSWORD_CHARS if name.is_password else _is_a_chain(value):
        return False
    if " " in value and not _is_sentence_like_password(value, name):
        return False
    if name.is_password:
        return is_password(value, spoken=spoken) and (close or len(value) >= 16 or _is_strong(value))
    chosen = name.kind == "secret" and 8 <= len(value) <= 64 and is_password(value, spoken=True)
    if spoken:
        return is_token(value, at_least=16 if close else 20) or (chosen and close and not value.isalnum())
    return is_token(value, at_least=12) or chosen


def _is_strong(value: str) -> bool:
    return len(value) >= 8 and any(char.isupper() for char in value) and any(char.isdigit() for char in value)


def _is_a_chain(value: str) -> bool:
    """Whether more names and values follow within it: each is looked at by itself."""
    return "=" in value.rstrip("=") or value.count(":") > 2


def _is_sentence_like_password(value: str, name: _Named) -> bool:
    """Whether a quoted value with spaces is a password all the same: a few words with digits or signs among them."""
    return name.is_password and len(value.split()) <= 4 and len(value) <= 40 and not is_plain(value)


_ACCESS_KEY = re.compile(r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}(?![A-Za-z0-9])")
_SECRET_KEY = re.compile(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")


def _beside_access_keys(text: str) -> Iterator[Secret]:
    """Find the secret that belongs to an AWS access key: forty characters within a few lines of it."""
    for key in _ACCESS_KEY.finditer(text):
        for match in _SECRET_KEY.finditer(text, max(0, key.start() - 300), key.end() + 300):
            if is_mixed(match[0]):
                yield Secret("AWS secret access key", match.start(), match.end())


def find_addresses(text: str) -> Iterator[Secret]:
    """Find passwords and tokens in URLs, headers and command lines."""
    if "://" in text:
        yield from _in_urls(text)
    if any(word in text for word in ("earer", "EARER", "asic", "ASIC", "uthorization", "UTHORIZATION")):
        yield from _in_headers(text)
    for needle, pattern in _COMMANDS:
        if needle in text:
            for match in pattern.finditer(text):
                if is_password(match["p"].rstrip(".,;")):
                    yield Secret("password", *match.span("p"))
    for match in _SIGNED.finditer(text):
        if is_token(match["p"], at_least=32):
            yield Secret("signature of a signed URL", *match.span("p"))


def _in_urls(text: str) -> Iterator[Secret]:
    at = text.find("://")
    while at >= 0:
        scheme = _SCHEME.search(text[max(0, at - 42) : at])
        # The password may have a slash or an @ of its own: the last @ before the path or a space counts.
        found = _USERINFO.match(text, at + 3)
        if scheme and found and not _PUBLIC.match(text, found.end()):
            yield from _credentials(text, found, scheme[0])
        at = text.find("://", at + 3)


def _credentials(text: str, found: re.Match[str], scheme: str) -> Iterator[Secret]:
    if found["password"] is not None:
        end = _last_at(text, found)
        whole = text[found.start("password") : end]
        if not (_PORT.match(whole) or is_default(found["user"], whole) or is_stand_in(whole)):
            yield Secret(f"password in a {scheme.lower()[:20]} address", found.start("password"), end)
    elif is_token(found["user"], at_least=20):
        yield Secret("token in an address", *found.span("user"))


def _last_at(text: str, found: re.Match[str]) -> int:
    """Where the password ends when it has an @ of its own, as in `p@ss@host`."""
    more = _AFTER_AT.match(text, found.end())
    return more.end() - 1 if more else found.end("password")


def is_default(user: str, password: str) -> bool:
    """Whether a password is what documentation and containers use: the name of the user."""
    return password.lower() == user.lower()


def _in_headers(text: str) -> Iterator[Secret]:
    for match in _BEARER.finditer(text):
        if is_token(match["token"].rstrip(".:"), at_least=16):
            yield Secret("bearer token", *match.span("token"))
    for match in _BASIC.finditer(text):
        if _is_login(match["token"]):
            yield Secret("basic credentials", *match.span("token"))
    for match in _SCHEMED.finditer(text):
        if is_token(match["token"], at_least=16):
            yield Secret("authorization header", *match.span("token"))


def _is_login(token: str) -> bool:
    """Whether it is a user name and a password in base64."""
    try:
        user, _, password = a2b_base64(token + "=" * (-len(token) % 4)).decode().partition(":")
    except ValueError:
        return False
    is_text = user.isprintable() and password.isprintable()
    return is_text and not (is_placeholder(password) or is_default(user, password))
