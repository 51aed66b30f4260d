"""Graphs: things and their connections, laid out in columns as SVG, each thing a link, with a list as plain form.

The layout is the same for the same graph: columns stand as given, and within a column the things are put near those
they hang together with, by the mean place of their neighbours (Sugiyama, Tagawa and Toda, 1981).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

COLUMN, ROW, TOP = 250, 26, 34
SWEEPS = 6
LARGEST, SMALLEST = 10.0, 3.5
LABEL_CHARS = 27


@dataclass(frozen=True)
class Node:
    """One thing: its key in the graph, its title, its size, and where it links to."""

    key: str
    name: str
    size: int
    address: str


@dataclass(frozen=True)
class Column:
    """The things of one kind, under one title."""

    title: str
    kind: str
    nodes: Sequence[Node]


@dataclass(frozen=True)
class PlacedNode:
    """A thing with its place in the picture, and the names of what it hangs together with."""

    node: Node
    kind: str
    title: str
    x: int
    y: int
    radius: str
    label: str
    others: list[str]


@dataclass(frozen=True)
class Edge:
    """A line between two things, from 1 to 3 wide."""

    path: str
    width: int


@dataclass(frozen=True)
class Graph:
    """A picture of things in columns: its size, its titles with their places, its lines and things."""

    width: int
    height: int
    titles: list[tuple[int, str]]
    edges: list[Edge]
    nodes: list[PlacedNode]


def draw_graph(columns: Sequence[Column], weights: Mapping[tuple[str, str], int]) -> Graph:
    """Lay out columns of things, and the lines between those that hang together: `weights` by the keys of both."""
    shown = [column for column in columns if column.nodes]
    nodes = {node.key: node for column in shown for node in column.nodes}
    lines = {pair: weight for pair, weight in weights.items() if pair[0] in nodes and pair[1] in nodes}
    near: dict[str, list[str]] = {key: [] for key in nodes}
    for one, other in sorted(lines):
        near[one].append(other)
        near[other].append(one)
    rows = _untangle([[node.key for node in column.nodes] for column in shown], near)
    most = max((node.size for node in nodes.values()), default=1) or 1
    places: dict[str, tuple[int, int]] = {}
    height = TOP + ROW * max((len(keys) for keys in rows), default=0)
    for number, keys in enumerate(rows):
        gap = (height - TOP) / max(1, len(keys))
        for place, key in enumerate(keys):
            places[key] = (16 + number * COLUMN, round(TOP + gap * (place + 0.5)))
    heaviest = max(lines.values(), default=1)
    placed = [
        PlacedNode(
            node=nodes[key],
            kind=column.kind,
            title=column.title,
            x=places[key][0],
            y=places[key][1],
            # By the root: then the areas compare as the sizes do.
            radius=f"{SMALLEST + (LARGEST - SMALLEST) * sqrt(max(0, nodes[key].size) / most):.1f}",
            label=_short(nodes[key].name),
            others=[nodes[other].name for other in near[key]],
        )
        for column, keys in zip(shown, rows, strict=True)
        for key in keys
    ]
    edges = [
        Edge(_curve(places[one], places[other]), 1 + min(2, 3 * weight // (heaviest + 1)))
        for (one, other), weight in sorted(lines.items())
    ]
    titles = [(16 + number * COLUMN, column.title) for number, column in enumerate(shown)]
    return Graph(COLUMN * len(shown), height, titles, edges, placed)


def _untangle(rows: list[list[str]], near: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the keys of each column, moved near those they connect to. Unconnected ones keep their place."""
    place = {key: number / len(keys) for keys in rows for number, key in enumerate(keys)}
    for _ in range(SWEEPS):
        for keys in rows:
            means = {key: _mean([place[other] for other in near[key]], place[key]) for key in keys}
            keys.sort(key=lambda key: (means[key], key))
            place |= {key: number / len(keys) for number, key in enumerate(keys)}
    return rows


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _curve(one: tuple[int, int], other: tuple[int, int]) -> str:
    (x, y), (far_x, far_y) = sorted([one, other])
    middle = (x + far_x) // 2
    return f"M{x} {y}C{middle} {y} {middle} {far_y} {far_x} {far_y}"


def _short(name: str) -> str:
    return name if len(name) <= LABEL_CHARS else f"{name[: LABEL_CHARS - 1]}…"
