"""The sections of a person's page: what each may be shown to others or kept to oneself."""

from enum import StrEnum


class ProfileSection(StrEnum):
    """One section of a person's page."""

    WHO = "who"
    ROLE = "role"
    AGENTS = "agents"
    STATISTICS = "statistics"
    BADGES = "badges"
    TOPICS = "topics"
    ACTIVITY = "activity"
    CONTRIBUTIONS = "contributions"
    HEADLINES = "headlines"


SHARED_IN_A_TEAM = (ProfileSection.WHO, ProfileSection.ROLE, ProfileSection.BADGES, ProfileSection.CONTRIBUTIONS)
"""What colleagues see of a user who has not chosen yet, in the mode `team`. In `enterprise` they see nothing."""
