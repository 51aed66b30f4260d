"""Where programs are answered that show a key: by what their paths begin with. `/mcp` is no part of Django."""

FOR_PROGRAMS = ("/api/", "/hooks/")


def is_for_programs(path: str) -> bool:
    """Whether a key opens what is at this path, no session does, and what is refused there is a problem document."""
    return path.startswith(FOR_PROGRAMS)
