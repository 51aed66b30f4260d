"""Invite a person."""

from typing import Any

from django.core.management.base import CommandParser

from accounts.actor import Actor
from accounts.models import Role
from accounts.people.invitations import LIFETIME, invite
from accounts.services.mail import mail_invitation
from bigmind.management.base import OperatorCommand
from bigmind.management.people import owner_of_instance


class Command(OperatorCommand):
    """Prints a link by which one person joins, with a name and a password of their own."""

    help = "Print a link by which one person joins. It is sent by e-mail as well where a mail server is configured."
    examples = (
        "bigmind user_invite Ada",
        "bigmind user_invite Ada --email ada@example.com --role curator",
        "bigmind user_invite --email ada@example.com --json",
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take whom to invite, and as what."""
        parser.add_argument("name", nargs="?", default="", help="How you know them.")
        parser.add_argument("--email", default="", help="Where the link is sent.")
        parser.add_argument("--role", choices=Role.values, default=Role.MEMBER, help="Default: member.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Invite them, in the name of the owner of this instance."""
        owner = Actor.of(owner_of_instance())
        new = invite(owner, name=options["name"], email=options["email"], role=options["role"])
        sent = mail_invitation(new)
        if options["json"]:
            self.print_json({"invited": str(new.invitation), "role": new.invitation.role, "url": new.url, "mail": sent})
            return
        self.stdout.write(new.url)
        self.remark(f"Makes {new.invitation} a {new.invitation.role}, once, within {LIFETIME.days} days. {sent}")
