"""Templates of what agents read: whatever a template prints is made harmless, unless it was made so already.

Django escapes HTML in templates of pages. Here it is markdown: a stored text must not begin a line of its own, nor pass
for a heading, a row, a fence or a label of the server's. Filters that have seen to it return `Told`; every other value
that is printed passes `inline` first, so that a forgotten filter costs beauty and never trust.
"""

from typing import Any

from django.template import Context, Engine
from django.template.backends.django import DjangoTemplates
from django.template.base import NodeList, Origin, Template, VariableNode, render_value_in_context

from bigmind.text.hygiene import Told, inline


class AgentNode(VariableNode):
    """Prints a variable in one harmless line, unless a filter has made it `Told`."""

    def render(self, context: Context) -> str:
        """Return the text to print."""
        value = self.filter_expression.resolve(context)
        if type(value) is str:  # Django has nothing to do to it.
            return inline(value)
        return value if isinstance(value, Told) else inline(render_value_in_context(value, context))


class AgentEngine(Engine):
    """Loads templates whose variables are printed for agents, included ones too."""

    def find_template(self, name: str, dirs: Any = None, skip: list[Origin] | None = None) -> tuple[Template, Origin]:
        """Return a template, with each of its variables made one that is printed for agents."""
        template, origin = super().find_template(name, dirs, skip)
        # Loaded templates are kept, and asked for at each rendering: going through their nodes took as long as that.
        return template if hasattr(template, "is_told") else _with_agent_nodes(template), origin

    def from_string(self, template_code: str) -> Template:
        """Return the same of a template that stands in no file."""
        return _with_agent_nodes(super().from_string(template_code))


def _with_agent_nodes(template: Template) -> Template:
    nodes = template.nodelist if isinstance(template.nodelist, NodeList) else NodeList()
    for node in nodes.get_nodes_by_type(VariableNode):
        node.__class__ = AgentNode
    template.is_told = True  # type: ignore[attr-defined]
    return template


class AgentTemplates(DjangoTemplates):
    """The backend: Django's own, with that engine."""

    def __init__(self, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.engine = AgentEngine(
            self.dirs,
            self.app_dirs,
            autoescape=False,
            debug=self.engine.debug,
            libraries=self.engine.libraries,
            builtins=self.engine.builtins,
        )
