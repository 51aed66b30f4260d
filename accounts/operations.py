"""What the app of people offers: nothing is exposed that is not in this table."""

from accounts.people import profiles
from accounts.shapes import ProfileShape
from bigmind.core.operations import Operation

OPERATIONS = (
    Operation(
        name="memory_update_profile",
        title="Update the profile",
        call=profiles.update_profile,
        shape=ProfileShape,
        route="PATCH profile/",
        toolset="memory",
        idempotent=True,
        template="profile.md",
    ),
    Operation(
        name="memory_get_profile",
        title="Read the profile",
        call=profiles.get_profile,
        shape=ProfileShape,
        route="GET profile/",
        toolset="memory",
        template="profile.md",
    ),
)
