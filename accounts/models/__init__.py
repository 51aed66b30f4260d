"""Who is who: users, keys, agents, profiles, and the record of what they did."""

from .alerts import Alert
from .audit import AuditEvent, AuditHead
from .backup_runs import BackupRun
from .calls import Call
from .erasures import ErasureReport
from .idempotency import KeptReply
from .instances import Instance
from .keys import SCOPES, ApiKey, AppToken, ConnectedApp
from .people import Agent, Invitation, Profile, Role, Sharing, User
from .settings import SettingOverride
from .sign_in import SignIn, SignInLink, SignInTry
from .task_statistics import TaskTally, Worker
