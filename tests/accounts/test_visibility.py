"""What an instance shares of those who have not chosen, as its settings say."""

import pytest
from pydantic import ValidationError

from bigmind.environment import Environment
from bigmind.environment.profile_sections import ProfileSection


@pytest.mark.parametrize(
    ("said", "meant"),
    [("", None), ("none", ()), ("who", ("who",)), (" who, badges ,", ("who", "badges"))],
)
def test_the_default_is_a_list_of_sections(said: str, meant: tuple[str, ...] | None) -> None:
    assert Environment(profile_sections=said).sections == meant


@pytest.mark.parametrize("said", ["whoo", "who,none", "WHO"])
def test_a_section_that_no_profile_has_is_refused_by_name(said: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        Environment(profile_sections=said)

    for section in ProfileSection:
        assert section.value in str(refusal.value)
