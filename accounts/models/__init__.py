"""Who is who: users, keys, agents, profiles, and the record of what they did."""

from .agents import Agent
from .calls import Call, KeptReply
from .keys import SCOPES, ApiKey
from .profiles import Profile
from .sign_in_links import SignInLink
from .sign_in_tries import SignInTry
from .users import Role, User

__all__ = ["SCOPES", "Agent", "ApiKey", "Call", "KeptReply", "Profile", "Role", "SignInLink", "SignInTry", "User"]
