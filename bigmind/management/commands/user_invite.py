"""Invite a person."""

from typing import Any

from accounts.actor import Actor
from accounts.models import Role
from accounts.people.invitations import LIFETIME, invite
from accounts.services.mail import mail_invitation
from bigmind.management.base import OperatorCommand, argument
from bigmind.management.people import owner_of_instance


class Command(OperatorCommand):
    """Print a link that lets one person join. It is also e-mailed if a mail server is configured."""

    examples = (
        "bigmind user_invite Ada",
        "bigmind user_invite Ada --email ada@example.com --role curator",
        "bigmind user_invite --email ada@example.com --json",
    )
    arguments = (
        argument("name", nargs="?", default="", help="The person's name."),
        argument("--email", default="", help="The address to send the link to."),
        argument("--role", choices=Role.values, default=Role.MEMBER, help="Default: member."),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        owner = Actor.of(owner_of_instance())
        new = invite(owner, name=options["name"], email=options["email"], role=options["role"])
        sent = mail_invitation(new)
        self.reply(
            {"invited": str(new.invitation), "role": new.invitation.role, "url": new.url, "mail": sent},
            new.url,
            remark=f"Makes {new.invitation} a {new.invitation.role}, once, within {LIFETIME.days} days. {sent}",
        )
