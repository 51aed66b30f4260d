"""Who is who: users, keys, agents, profiles, and the record of what they did."""

from .connected_apps import AppToken, ConnectedApp
from .instances import Instance
from .keys import SCOPES, ApiKey
from .people import Agent, Invitation, Profile, Role, Sharing, User
from .records import Alert, AuditEvent, AuditHead, Call, ErasureReport, KeptReply, TaskTally
from .sign_in import SignIn, SignInLink, SignInTry
