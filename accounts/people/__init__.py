"""The people of an instance: users, roles, invitations, profiles, and what is deleted with a user."""
