"""How a running BigMind is watched: logs, metrics, traces."""

import os
from typing import Literal

from pydantic import BaseModel, Field, SecretStr

from bigmind.environment.addresses import WebAddress


class Watching(BaseModel):
    """How a running BigMind is watched."""

    debug: bool = Field(default=False, description="Developer's error pages. Never on a machine others can reach.")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(default="INFO", description="How much is logged.")
    log_format: Literal["text", "json"] = Field(default="text", description="`json`: one object a line, for machines.")
    slow_ms: int = Field(
        default=1000, ge=1, description="Milliseconds from which on a call, a page or a task is logged as slow."
    )
    metrics_token: SecretStr = Field(
        default=SecretStr(""),
        description="Whoever sends it as `Authorization: Bearer …` may read `/metrics`. Default: only programs on this "
        "machine may, and only where BIGMIND_PUBLIC_URL is this machine, so that no proxy can ask for others.",
    )
    otlp_endpoint: WebAddress = Field(
        default="",
        description="Collector that traces are sent to (OpenTelemetry over HTTP), e.g. `http://localhost:4318`. "
        "Default: what the standard variable `OTEL_EXPORTER_OTLP_ENDPOINT` says; without it no trace is made.",
    )

    @property
    def sends_traces(self) -> bool:
        """Whether a collector is configured, here or by the variables that OpenTelemetry reads itself."""
        standard = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
        return bool(self.otlp_endpoint or any(os.environ.get(name) for name in standard))
