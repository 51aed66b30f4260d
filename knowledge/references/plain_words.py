"""What people call things and acts, and what documentation calls them: kick somebody off, remove a member."""

from collections.abc import Mapping, Sequence

from bigmind.core.load_once import load_once

_MEANT = """
accept: approve confirm merge
allowed may permitted rights: permission permissions grant grants access role
answer: reply replies respond response
application: app
ask: request
attend attended: participants attendees
ban: block
bigger grow shrink smaller: resize scale size
block blocks: dependencies dependency
cancel: delete abort
change changed: diff changes
colleague coworker people person teammate: user users member members participant participants collaborator
comment: comments note notes reply
configuration: config
content contents: item items object objects entry entries children
copy duplicate: copy clone duplicate replicate
cost costs money owe pay price: payment payments billing balance pricing charge
document file: files documents attachment attachments asset assets
earlier older past previous: version versions revision revisions history
empty: clear purge flush
end finish stop: end stop cancel terminate finish shutdown status
give: assign grant
history: changelog activity audit versions revisions
image photo picture: image picture photo avatar thumbnail icon media
invite: invitation invitations
log: track record entry
machine server vm: machine server instance node vm host
mail: email message
many multiple several: bulk batch multiple mass
me: current authenticated self whoami
move: transfer
organization: org
react: reaction reactions
reject: decline deny refuse
register: registrant registrants registration subscriber
recover restore undelete: restore recover undelete
repository: repo
restart: reboot
retry: rerun restart redo
run: trigger execute launch start
send: publish
share: collaboration collaborations collaborator invite access shared
swap replace: replace override overrides substitute exchange
text words: search query text
"""
"""Words of questions, and after the colon the words of documentation that may mean the same; stems will do."""
_APART = """
back up: backup
bring back: restore
call off: cancel
find out: get
get rid: delete
hand over: transfer
kick off: remove
kick out: remove
log in: login
logged in: login
look up: find
make bigger: resize
make copy: duplicate
make smaller: resize
put back: restore
roll back: rollback
set up: create
shut down: shutdown
sign up: register
switch off: disable
switch on: enable
take away: remove
take off: remove
take out: remove
turn off: disable
turn on: enable
"""
"""Verbs of two words, between which what they are done to may stand: take somebody out of a team."""
_BETWEEN = 8
"""Words between the two at most."""
_WITHIN = frozenset("in inside on within".split())  # noqa: SIM905
PEOPLE, CONTENT = "people", "content"
_NAMED = {"again": "retry"} | dict.fromkeys(
    "anybody anyone everybody everyone somebody someone who whom whose".split(),  # noqa: SIM905
    PEOPLE,
)
_AM = frozenset("am i".split())  # noqa: SIM905


def name_acts(words: Sequence[str]) -> list[str]:
    """Return the words of a question with what is meant instead of what has no word of its own.

    A verb of two words becomes one. Who I am is the current user, and what is in something its content.
    """
    found = list(words)
    if found[:1] == ["who"] and set(found) >= _AM:
        return ["get", "current", "user", "me"]
    for place, verb in enumerate(words):
        for particle in found[place + 1 : place + 2 + _BETWEEN]:
            if joined := _verbs_apart().get((verb, particle)):
                found[place] = joined
                found.remove(particle)
                break
    if len(found) > 2 and found[0] in {"what", "which"} and found[1] in {"is", "are"} and found[2] in _WITHIN:
        found[1] = CONTENT
    return [_NAMED.get(word, word) for word in found]


@load_once
def _verbs_apart() -> Mapping[tuple[str, ...], str]:
    return {tuple(apart.split()): verb.strip() for apart, verb in _rows_of(_APART)}


@load_once
def word_meanings() -> Mapping[str, Sequence[str]]:
    """Return for each word of a question the words of documentation that may mean the same."""
    return {word: meant.split() for asked, meant in _rows_of(_MEANT) for word in asked.split()}


def _rows_of(table: str) -> list[list[str]]:
    return [line.split(":") for line in table.strip().splitlines()]
