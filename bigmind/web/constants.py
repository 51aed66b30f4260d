"""Parts of templates that say the same to everyone who reads a language: rendered once, and kept.

They are texts, the addresses of pages, symbols, and whatever is included that consists of these.
"""

from typing import Any

from django.template import Context, Node, NodeList, Template
from django.template.base import TextNode
from django.template.defaulttags import IfNode, LoadNode, URLNode
from django.template.library import SimpleNode
from django.template.loader_tags import BlockNode, IncludeNode
from django.template.loaders import cached
from django.templatetags.i18n import BlockTranslateNode, TranslateNode
from django.templatetags.static import StaticNode
from django.urls import get_script_prefix
from django.utils.safestring import SafeString
from django.utils.translation import get_language

CONSTANT_TAGS = {"icon"}
"""Tags of ours that render the same whenever their arguments are the same."""

_kept: dict[tuple["ConstantNode", str | None, str], SafeString] = {}


class ConstantNode(Node):
    """Neighbouring nodes that depend on nothing but the language, and the path below which BigMind is served."""

    def __init__(self, nodes: list[Node]) -> None:
        self._nodes = NodeList(nodes)

    def render(self, context: Context) -> SafeString:
        """Return what the nodes rendered in this language the first time."""
        key = self, get_language(), get_script_prefix()
        kept = _kept.get(key)
        if kept is None:
            assert context.template
            empty = Context()
            with empty.bind_template(context.template):
                kept = _kept[key] = self._nodes.render(empty)
        return kept


class InlinedNode(Node):
    """What an inclusion includes: found once, not for each page."""

    child_nodelists = ()

    def __init__(self, nodes: NodeList, values: dict[str, Any]) -> None:
        self.nodes, self.values = nodes, values

    def render(self, context: Context) -> SafeString:
        """Return what the nodes render with these values."""
        values = {name: value.resolve(context) for name, value in self.values.items()}
        with context.push(**values), context.render_context.push():
            return self.nodes.render(context)


class Loader(cached.Loader):
    """Loads each template once, with its constant nodes joined."""

    def get_template(self, template_name: str, skip: Any = None) -> Template:
        """Return the template, as it was prepared when it was loaded."""
        template: Any = super().get_template(template_name, skip)
        if not hasattr(template, "is_joined"):
            template.is_joined = False  # A template may include itself.
            self._join(template.nodelist)
            template.is_joined = True
        return template  # type: ignore[no-any-return]

    def _join(self, nodes: NodeList) -> None:
        """Join the constant nodes of a list, and of the lists within it."""
        joined: list[Node] = []
        run: list[Node] = []
        for written in nodes:
            node = self._inline(written) if isinstance(written, IncludeNode) else written
            if self._is_constant(node):
                run.append(node)
                continue
            joined += _as_one(run)
            run = []
            for inner in _lists_in(node):
                self._join(inner)
            joined.append(node)
        nodes[:] = [*joined, *_as_one(run)]

    def _is_constant(self, node: Any) -> bool:
        match node:
            case TextNode() | LoadNode() | ConstantNode():
                return True
            case TranslateNode():
                return not (node.asvar or node.message_context) and _is_literal(node.filter_expression)
            case BlockTranslateNode():
                depends = node.asvar or node.message_context or node.countervar or node.extra_context
                return not depends and all(token.token_type.name == "TEXT" for token in node.singular)
            case URLNode():
                return not (node.asvar or node.args or node.kwargs) and _is_literal(node.view_name)
            case StaticNode():
                return not node.varname and _is_literal(node.path)
            case SimpleNode():
                is_ours = node.func.__name__ in CONSTANT_TAGS and not (node.target_var or node.kwargs)
                return is_ours and all(map(_is_literal, node.args))
            case InlinedNode():
                return not node.values and all(map(self._is_constant, node.nodes))
        return False

    def _inline(self, node: Any) -> Node:
        """Return an inclusion with the nodes of what it includes; as it is, if its name is only known later."""
        # Reports of errors name the template that is being rendered, so a developer sees it as it was written.
        if not _is_literal(node.template) or node.isolated_context or self.engine.debug:
            return node  # type: ignore[no-any-return]
        included: Any = self.get_template(node.template.var)
        is_whole = included.is_joined and not included.nodelist.get_nodes_by_type(BlockNode)
        return InlinedNode(included.nodelist, node.extra_context) if is_whole else node


def _as_one(run: list[Node]) -> list[Node]:
    """Return one node for several constant ones; text alone stays text."""
    if any(not isinstance(node, TextNode | LoadNode) for node in run):
        return [ConstantNode(run)]
    text = "".join([node.s for node in run if isinstance(node, TextNode)])
    return [TextNode(text)] if text else []


def _lists_in(node: Any) -> list[NodeList]:
    if isinstance(node, IfNode):
        return [inner for _, inner in node.conditions_nodelists]
    return [inner for name in node.child_nodelists if isinstance(inner := getattr(node, name, None), NodeList)]


def _is_literal(expression: Any) -> bool:
    """Whether an expression of a template is a text between quotes, without filters."""
    return not expression.filters and getattr(expression.var, "lookups", None) is None
