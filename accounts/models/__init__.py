"""Who is who: users, keys, agents, profiles, and the record of what they did."""

from .instances import Instance
from .keys import SCOPES, ApiKey, AppToken, ConnectedApp
from .people import Agent, Invitation, Profile, Role, Sharing, User
from .records import Alert, AuditEvent, AuditHead, BackupRun, Call, ErasureReport, KeptReply, TaskTally
from .settings import SettingOverride
from .sign_in import SignIn, SignInLink, SignInTry
