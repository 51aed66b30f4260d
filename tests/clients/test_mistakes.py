"""What agents get wrong reaches BigMind from every client.

Some clients check arguments against the schema of a tool before they send them. What they refuse cannot be forgiven.
"""

import pytest
from jsonschema import Draft7Validator

from accounts.actor import Actor
from accounts.keys import NewKey
from accounts.models import Call
from bigmind.operations import CATALOGUE
from bigmind.transports.mcp.tools import tool_of
from knowledge.context.sessions import start_session
from knowledge.memory.facts import store_fact
from tests.clients.dialects import Step
from tests.clients.installed import APART, RealClient
from tests.serving import eventually
from tests.transports.agent_mistakes import MISTAKES, Ids

pytestmark = pytest.mark.clients

DETAILS_FOR_PROGRAMS = "problems"


def _not_as_listed(ids: Ids) -> list[Step]:
    """Return every mistake with a listed tool and arguments that its schema does not allow."""
    calls = [mistake.sent(ids) for mistake in MISTAKES]
    listed = {name: tool_of(each) for name, each in CATALOGUE.items() if each.is_listed_in({"core"})}
    return [
        Step(tool, arguments)
        for tool, arguments in calls
        if tool in listed and not Draft7Validator(listed[tool].input_schema).is_valid(arguments)
    ]


@pytest.mark.parametrize("client", APART, indirect=True, ids=lambda kind: kind.name)
def test_every_mistake_reaches_bigmind(client: RealClient, key: NewKey) -> None:
    actor = Actor.of(key.key.user, key=key.key)
    session = start_session(actor, project="depot").session
    fact = store_fact(actor, category="identity", fact="The bicycle is green in colour.").fact
    mistakes = _not_as_listed({"fact": fact.pk, "session": str(session.pk), "today": "", "yesterday": ""})
    # Gemini CLI asks its model after 30 calls whether it goes round in circles.
    for some in (mistakes[:20], mistakes[20:]):
        client.model.play(*some)
        client.ask()
        assert len(client.replies) == len(some)
        assert not [reply for reply in client.replies if DETAILS_FOR_PROGRAMS in reply]

    assert len(mistakes) >= 20
    assert eventually(lambda: Call.objects.filter(user=actor.user, transport="mcp").count() == len(mistakes))
