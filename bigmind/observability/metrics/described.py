"""Every metric in words, for the document: those of the process, then those of the instance."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prometheus_client.metrics import MetricWrapperBase

from bigmind.core import metrics as counted
from bigmind.observability.metrics import endpoint, figures


@dataclass(frozen=True)
class DescribedMetric:
    """One metric: its name as Prometheus stores it, what it is, and the names of its labels."""

    name: str
    kind: str
    labels: tuple[str, ...]
    about: str


def describe_metrics() -> Iterator[DescribedMetric]:
    """Yield every metric of BigMind."""
    for module in (counted, endpoint, figures):
        for metric in vars(module).values():
            if isinstance(metric, MetricWrapperBase) and metric._documentation:
                yield _of_the_process(metric)
    for figure in figures.FIGURES:
        name = f"{figure.name}_total" if figure.counts_up else figure.name
        yield DescribedMetric(
            name, f"{'counter' if figure.counts_up else 'gauge'}, instance", figure.labels, figure.about
        )
    yield DescribedMetric(figures.UP, "gauge, instance", (), figures.ABOUT_UP)


def _of_the_process(metric: Any) -> DescribedMetric:
    ending = {"counter": "_total", "info": "_info"}.get(metric._type, "")
    labels = tuple(metric._labelnames) or tuple(metric._value if metric._type == "info" else ())
    return DescribedMetric(f"{metric._name}{ending}", f"{metric._type}, process", labels, metric._documentation)
