"""Private keys: PEM blocks, whole or cut off, on one line or many, and bodies that lost their frame."""

import re
from base64 import b64decode
from collections.abc import Iterator

from .found import Secret

KIND = "private key"
BODY_CHARS = 40
_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-\d")
_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|Private-MAC: ?[0-9a-f]+")
# Line ends may be escaped or quoted, as in JSON and in code. Headers such as `Proc-Type: 4,ENCRYPTED` may come first.
_SPACE = r"(?:\s|\\{1,2}[nr]|\\?[\"'`+,>|]){0,40}+"
_HEADERS = rf"(?:[A-Z][\w-]{{1,20}}: ?[^\n\\]{{0,200}}{_SPACE}){{0,8}}+"
_LINES = rf"(?:[A-Za-z0-9+/=]{{16,}}+{_SPACE})*+"
_BODY = re.compile(rf"(?::[^\n]{{0,99}})?{_SPACE}{_HEADERS}(?P<key>{_LINES}(?:[A-Za-z0-9+/=]{{1,80}}{_SPACE}(?=--))?)")
_FRAMELESS = re.compile(
    r"(?:MII[A-Za-z0-9+/]{1,5}(?:IBAAKCA[QgI]|BADANBgkqhkiG9w0BAQEFAASC)|b3BlbnNzaC1rZXktdjEA|MC4CAQAwBQYDK2V|MHcCAQEEI"
    r"|MIG[HT]AgEA|MGgCAQEE|MHQCAQEEI)" + _LINES
)
_ENCODED_FRAME = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]{60,}+")


def find_private_keys(text: str) -> Iterator[Secret]:
    """Find private keys in PEM, OpenSSH, PGP and PuTTY form. A frame that is mentioned without a body is none."""
    if "PRIVATE KEY" in text or "PuTTY-User-Key" in text:
        yield from _find_framed(text)
        yield from _find_headless(text)
    for match in _FRAMELESS.finditer(text):
        if len(match[0]) >= BODY_CHARS + 20:
            yield Secret(KIND, match.start(), match.start() + len(match[0].rstrip()))
    for match in _ENCODED_FRAME.finditer(text):
        if b"PRIVATE KEY" in b64decode(match[0][:80]):
            yield Secret(KIND, match.start(), match.end())


def _find_framed(text: str) -> Iterator[Secret]:
    done = 0
    for begin in _BEGIN.finditer(text):
        if begin.start() < done:
            continue
        body = _BODY.match(text, begin.end())
        if body is None or len(body["key"]) < BODY_CHARS:
            continue
        end = _END.match(text, body.end())
        done = end.end() if end else body.start("key") + len(body["key"].rstrip(" \n\r\"'`,"))
        yield Secret(KIND, begin.start(), done)


def _find_headless(text: str) -> Iterator[Secret]:
    """Find bodies whose beginning was cut off."""
    for end in _END.finditer(text):
        before = text[max(0, end.start() - 8000) : end.start()]
        body = re.search(r"(?:[A-Za-z0-9+/=]{16,76}(?:\s{1,4}|\\n)){1,200}\Z", before[-400:])
        if body and len(body[0]) >= BODY_CHARS:
            yield Secret(KIND, end.start() - len(body[0]), end.end())
