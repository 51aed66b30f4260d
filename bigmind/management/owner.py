"""The user that a command acts for when none is named."""

from accounts.models import Role, User
from bigmind.core.errors import NotFound


def owner_of_instance() -> User:
    """Return the first admin: the one that the first start made.

    Raises:
        NotFound: there is none yet.
    """
    owner = User.objects.filter(role=Role.ADMIN, is_active=True).order_by("created_at").first()
    if owner is None:
        raise NotFound("There is no admin yet.", hint="`bigmind up` makes the first user, and so does user_add.")
    return owner
