"""How far long work is, in one line that writes over itself: for people at a terminal, and for nobody else."""

from django.core.management.base import OutputWrapper

WIDTH = 24


class ProgressBar:
    """A bar with a label, such as `lessons.yaml [######------] 120 of 254`."""

    def __init__(self, terminal: OutputWrapper, label: str, total: int) -> None:
        self._terminal, self._label, self._total = terminal, label, total
        self._done = 0
        self._is_shown = total > 0 and terminal.isatty()

    def advance(self, by: int = 1) -> None:
        """Show that so many more are done."""
        self._done += by
        filled = WIDTH * min(self._done, self._total) // max(self._total, 1)
        bar = "#" * filled + "-" * (WIDTH - filled)
        self._show(f"\r{self._label} [{bar}] {self._done:,} of {self._total:,}")

    def clear(self) -> None:
        """Clear the line for the next message."""
        self._show("\r\x1b[2K")

    def _show(self, text: str) -> None:
        if self._is_shown:
            self._terminal.write(text, lambda plain: plain, ending="")
            self._terminal.flush()
