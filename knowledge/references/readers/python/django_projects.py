"""Management commands of another Django project: asked in a process of its own, for a process has one project.

`python -m knowledge.references.readers.python.django_projects` is that process: it prints what it found as JSON.
"""

import os
import subprocess
import sys
from pathlib import Path

from pydantic import ValidationError

from bigmind.core.errors import Invalid
from knowledge.references.readers.reference_drafts import Generated
from knowledge.references.readers.registry import Source

SECONDS = 60


def generate(source: Source) -> Generated:
    """Make the references of a project's commands; the source is its settings module.

    Raises:
        Invalid: the project cannot be loaded, and why.
    """
    settings = source.given
    if not all(part.isidentifier() for part in settings.split(".")):
        raise Invalid(f"`{settings}` is no settings module.", hint="Name it as `project.settings`.")
    # The project is the operator's: it is found as its own manage.py finds it, from the folder one stands in.
    own = str(Path(__file__).resolve().parents[4])
    path = os.pathsep.join([str(Path.cwd()), own, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "knowledge.references.readers.python.django_projects"]
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": settings, "PYTHONPATH": path}
    try:
        ran = subprocess.run(  # noqa: S603 - our own module; the settings are a name
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise Invalid(f"`{settings}` did not load within {SECONDS} seconds.") from error
    try:
        # The last line: a project may print while it loads.
        return Generated.model_validate_json(ran.stdout.splitlines()[-1] if ran.stdout else b"")
    except ValidationError as error:
        lines = ran.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1][:300] if lines else "it printed nothing"
        raise Invalid(f"`{settings}` cannot be loaded: {reason}.", hint="Stand in the project's folder.") from error


def main() -> None:
    """Print the commands of the project that DJANGO_SETTINGS_MODULE names."""
    import django

    from knowledge.references.readers.python.commands import generate_from_django

    django.setup()
    sys.stdout.write("\n" + generate_from_django().model_dump_json() + "\n")


if __name__ == "__main__":
    main()
