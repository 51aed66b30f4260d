"""Plain questions to an API, in words that it does not use itself: the right request comes first, before any vector."""

import pytest

from knowledge.references.imports import import_references
from knowledge.references.plain_words import name_acts
from knowledge.references.search import search_knowledge
from tests.factories import make_actor
from tests.knowledge.factories import make_draft

ENDPOINTS = {
    "GET /boats": "List boats",
    "POST /boats": "Create a boat",
    "GET /boats/{id}": "Get a boat",
    "PUT /boats/{id}": "Update a boat",
    "DELETE /boats/{id}": "Delete a boat",
    "POST /boats/bulk-delete": "Delete boats in bulk",
    "GET /boats/{id}/crew_members": "List the members of a boat",
    "POST /boats/{id}/crew_members": "Add a member to a boat",
    "DELETE /boats/{id}/crew_members/{member_id}": "Remove a member from a boat",
    "POST /boats/{id}/removeFlag": "Remove a flag from a boat",
    "POST /boats/{id}/addFlag": "Add a flag to a boat",
    "GET /boats/{id}/cargoes": "List the cargo of a boat",
    "POST /boats/{id}/anchor": "Anchor a boat",
    "POST /boats/{id}/notes": "Create a note on a boat",
    "GET /boats/{id}/registrants.json": "Fetch the registrants of a boat",
    "GET /boats/{id}/registrants/{sid}.json": "Fetch a registrant of a boat",
    "POST /boats/{id}/registrants.json": "Create a registrant of a boat",
    "POST /boats/{id}/lamps/enable": "Enable the lamps of a boat",
    "POST /boats/{id}/lamps/disable": "Disable the lamps of a boat",
    "GET /users": "List users",
    "GET /users/{id}": "Get a user",
    "GET /users/me": "Get the current user",
}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("question", "name"),
    {
        "who is on a boat": "GET /boats/{id}/crew_members",
        "what is in a boat": "GET /boats/{id}/cargoes",
        "list everybody": "GET /users",
        "who am I logged in as": "GET /users/me",
        "show me a boat": "GET /boats/{id}",
        "take a person off a boat": "DELETE /boats/{id}/crew_members/{member_id}",
        "kick somebody out of a boat": "DELETE /boats/{id}/crew_members/{member_id}",
        "take the flag off a boat": "POST /boats/{id}/removeFlag",
        "put somebody on a boat": "POST /boats/{id}/crew_members",
        "leave a comment on a boat": "POST /boats/{id}/notes",
        "sign somebody up for a boat": "POST /boats/{id}/registrants.json",
        "list the registrants of a boat": "GET /boats/{id}/registrants.json",
        "anchor a boat": "POST /boats/{id}/anchor",
        "turn off the lamps of a boat": "POST /boats/{id}/lamps/disable",
        "get rid of a boat": "DELETE /boats/{id}",
        "delete several boats at once": "POST /boats/bulk-delete",
    }.items(),
)
def test_the_request_that_does_it_comes_first(question, name):
    actor = make_actor(curator=True)
    drafts = [make_draft(request, kind="api", title=title, summary=title) for request, title in ENDPOINTS.items()]
    import_references(actor, collection="harbour", drafts=drafts, source="harbour.json")

    found = search_knowledge(actor, query=question).items

    assert [hit.reference.name for hit in found][:1] == [name]


def test_a_verb_of_two_words_is_one_act_only_when_its_words_are_near():
    assert name_acts(["take", "a", "box", "out", "of", "a", "crate"]) == ["remove", "a", "box", "of", "a", "crate"]
    assert name_acts(["take", *["box"] * 20, "out"]) == ["take", *["box"] * 20, "out"]
