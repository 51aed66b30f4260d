"""The words of documentation: the kinds of references."""

from enum import StrEnum


class ReferenceKind(StrEnum):
    """What a reference describes."""

    COMMAND = "command"
    API = "api"
    GUIDE = "guide"
    FEATURE = "feature"
    TROUBLESHOOTING = "troubleshooting"
    SETTING = "setting"
