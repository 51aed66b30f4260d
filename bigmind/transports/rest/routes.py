"""The paths of the catalogue, as Django and as people write them."""

import re
from difflib import get_close_matches

from bigmind.core.load_once import load_once
from bigmind.core.operations import Operation
from bigmind.operations import CATALOGUE

ROOT = "/api/v1/"
_PARAMETER = re.compile(r"\{(\w+)\}")


def operations_by_path() -> dict[str, dict[str, Operation]]:
    """Return the catalogue by path below `/api/v1/`, and there by method in lower case."""
    paths: dict[str, dict[str, Operation]] = {}
    for operation in CATALOGUE.values():
        paths.setdefault(operation.path, {})[operation.method.lower()] = operation
    # `facts/search/` before `facts/{fact_id}/`: a word that stands in the route is never taken for an argument.
    return dict(sorted(paths.items(), key=lambda item: [part.startswith("{") for part in item[0].split("/")]))


def django_route(path: str) -> str:
    """Return a path as Django writes it: `facts/{fact_id}/` becomes `facts/<str:fact_id>/`."""
    return _PARAMETER.sub(r"<str:\1>", path)


def path_parameters(operation: Operation) -> list[str]:
    """Return the arguments that stand in the path, in order."""
    return _PARAMETER.findall(operation.path)


def nearest_route(path: str) -> str:
    """Return the route that looks most like `asked`, or an empty text when none does."""
    if not path.endswith("/") and _fits(f"{path}/"):
        return f"{path}/"
    return next(iter(get_close_matches(path[:200], _paths(), n=1, cutoff=0.7)), "")


def _fits(path: str) -> bool:
    return any(pattern.fullmatch(path) for pattern in _patterns())


@load_once
def _paths() -> list[str]:
    return [ROOT + path for path in operations_by_path()]


@load_once
def _patterns() -> list[re.Pattern[str]]:
    return [re.compile(re.escape(ROOT) + _PARAMETER.sub("[^/]+", path)) for path in operations_by_path()]
