"""Who is who: users, keys, agents, profiles, and the record of what they did."""

from .agents import Agent
from .alerts import Alert
from .audit import AuditEvent, AuditHead
from .calls import Call, KeptReply
from .connected_apps import AppToken, ConnectedApp
from .erasures import ErasureReport
from .instances import Instance
from .invitations import Invitation
from .keys import SCOPES, ApiKey
from .profiles import Profile
from .sharing import Sharing
from .sign_in_links import SignInLink
from .sign_in_tries import SignInTry
from .sign_ins import SignIn
from .task_statistics import TaskTally
from .users import Role, User

__all__ = [
    "SCOPES",
    "Agent",
    "Alert",
    "ApiKey",
    "AppToken",
    "AuditEvent",
    "AuditHead",
    "Call",
    "ConnectedApp",
    "ErasureReport",
    "Instance",
    "Invitation",
    "KeptReply",
    "Profile",
    "Role",
    "Sharing",
    "SignIn",
    "SignInLink",
    "SignInTry",
    "TaskTally",
    "User",
]
