"""The looks, ``sam`` for dark terminals and ``sam-light`` for light ones among them; their style sheet."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from weakref import WeakKeyDictionary

from rich.terminal_theme import TerminalTheme
from textual.css.match import _check_selectors  # pyright: ignore[reportPrivateUsage]
from textual.css.model import RuleSet, Selector
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.theme import Theme

# For each widget Textual looks for every rule in a set. Its own hash of a rule is the same identity, but
# calls Python, and raises an audit event, once for each rule of each widget.
RuleSet.__hash__ = object.__hash__


Node = Any
"""A ``DOMNode`` with what Textual hides in it."""
Rules = Mapping[str, object]
"""The value of each style that rules set."""


class ThemeStylesheet(Stylesheet):
    """Textual's, without its parsing of everything anew where no variable changed, and with fewer changes.

    Textual parses twice before the first frame, and at each first opening of a dialog. Whenever a node
    gets or loses focus or a class, it combines all rules again for the node and everything in it, sets
    every style, and makes those of the node's parts (component classes) anew.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._present = variables
        self._combined: dict[frozenset[str], CombinedRules] = {}

    def set_variables(self, variables: dict[str, str]) -> None:
        """Set the variables of a theme; drops the results of parsing with other values."""
        if variables != self._present:
            self._present = variables
            super().set_variables(variables)

    def parse(self) -> None:
        """Parse new sources. A source with an error raises and leaves the rules unchanged."""
        super().parse()
        self._combined = {}

    reparse = parse

    def apply(self, node: Node, *, animate: bool = False, cache: object = None) -> None:
        """Set the styles of a node; those of nodes that the same selectors match are combined once."""
        if self._require_parse:
            self.parse()
        names = frozenset(node._selector_names)
        if names not in self._combined:
            self._combined[names] = CombinedRules(self.rules_map, names, node)
        combined = self._combined[names]
        matches = combined.matches(node)
        if matches in combined.rules:
            for name, value in combined.noted.items():
                setattr(node, name, value)
            rules, values = combined.rules[matches], combined.values.get(matches)
            if rules is not None and values is not None and _is_new(node):
                node.styles.base.merge_rules(values)
                node.notify_style_update()
                _APPLIED[node] = rules, node.styles.base._updates
            elif rules is not None:
                self.replace_rules(node, rules, animate)
            self._process_component_classes(node)
            return
        before, new = _APPLIED.get(node), _is_new(node)
        super().apply(node, animate=animate)  # pyright: ignore[reportUnknownMemberType]
        after = _APPLIED.get(node)
        combined.rules[matches] = None if after is before or after is None else after[0]
        combined.noted = {name: getattr(node, name) for name in _NOTED}
        if new:
            combined.values[matches] = node.styles.base.get_rules()

    @classmethod
    def replace_rules(cls, node: Node, rules: Rules, animate: bool = False) -> None:
        """Set those styles of a node whose values differ from the ones that were set last."""
        base = node.styles.base
        earlier, updates = _APPLIED.get(node, ({}, -1))
        if updates != base._updates or "transitions" in rules or "transitions" in earlier:
            super().replace_rules(node, rules, animate)  # pyright: ignore[reportArgumentType]
        else:
            for name in () if earlier is rules else earlier.keys() | rules.keys():
                if earlier.get(name) != rules.get(name):
                    setattr(base, name, rules.get(name))
            node.notify_style_update()
        _APPLIED[node] = rules, base._updates

    def _process_component_classes(self, node: Node) -> None:
        """Set the styles of a node's parts; the node is drawn again if one of them changed."""
        changed = False
        for name in node._get_component_classes():
            styles = node._component_styles.get(name)
            part: Node = DOMNode(classes=name) if styles is None else styles.base.node
            part._attach(node)
            base = part.styles.base
            updates, before = base._updates, _APPLIED.get(part)
            self.apply(part)
            if before is not None and _APPLIED[part] is before:  # no rule is for it any more
                self.replace_rules(part, {})
            node._component_styles[name] = part.styles
            changed = changed or base._updates != updates
        if changed:
            node.refresh()


class CombinedRules:
    """What was combined of the rules that may be for a node with some names: its type, id and classes."""

    def __init__(
        self, rules_map: dict[str, list[RuleSet]], names: frozenset[str], node: Node
    ) -> None:
        rules: set[Node] = {rule for name in names for rule in rules_map.get(name, ())}
        sets = [selector_set.selectors for rule in rules for selector_set in rule.selector_set]
        # A rule for a name alone is for every such node.
        self._selectors = [
            selectors
            for selectors in sets
            if selectors[-1]._check(node) and (len(selectors) > 1 or selectors[0].pseudo_classes)
        ]
        self.rules: dict[tuple[bool, ...], Rules | None] = {}
        """The rules for a node by the selectors that match it; None if no rule is for it."""
        self.values: dict[tuple[bool, ...], Rules] = {}
        """The styles that a new node has once these rules were set one by one."""
        self.noted: Mapping[str, bool] = {}
        """What Textual notes at each such node."""

    def matches(self, node: Node) -> tuple[bool, ...]:
        """Which of the selectors match this node where it is now."""
        path = node.css_path_nodes
        return tuple([_match(selectors, node, path) for selectors in self._selectors])


def _match(selectors: list[Selector], node: Node, path: list[DOMNode]) -> bool:
    """Whether selectors match a node with the name that the last of them has. The node's own state is
    looked at before the nodes around it."""
    state = selectors[-1].pseudo_classes
    if state and not node.has_pseudo_classes(state):
        return False
    return len(selectors) == 1 or _check_selectors(selectors, path)


def _is_new(node: Node) -> bool:
    """Whether a node has no styles yet, and shows nothing that would follow them."""
    return not node._is_mounted and not node.styles.base._rules


_NOTED = ("_has_hover_style", "_has_focus_within", "_has_order_style", "_has_odd_or_even")
"""Whether any of the rules has such a pseudo-class."""
_APPLIED = WeakKeyDictionary[DOMNode, tuple[Rules, int]]()
"""The rules that were set last, and how often the node's styles had changed by then."""


@dataclass(frozen=True, slots=True)
class Look:
    """The colours of one look. Text is read on ``background``, ``surface`` and ``panel``."""

    name: str
    dark: bool
    foreground: str
    background: str
    surface: str
    panel: str
    primary: str
    secondary: str
    accent: str
    success: str
    error: str
    faint: str
    """The colour of borders without focus and of scrollbars."""
    hover: str
    muted: str
    disabled: str

    def theme(self) -> Theme:
        """The look as a theme of Textual."""
        return Theme(
            name=self.name,
            dark=self.dark,
            primary=self.primary,
            secondary=self.secondary,
            accent=self.accent,
            foreground=self.foreground,
            background=self.background,
            surface=self.surface,
            panel=self.panel,
            success=self.success,
            warning=self.accent,
            error=self.error,
            variables={
                "text-muted": self.muted,
                "text-disabled": self.disabled,
                "border": self.primary,
                "border-blurred": self.faint,
                "block-cursor-foreground": self.background,
                "block-cursor-background": self.primary,
                "block-cursor-text-style": "none",
                "input-selection-background": f"{self.primary} {35 if self.dark else 25}%",
                "screen-selection-foreground": self.foreground,
                "button-color-foreground": self.background,
                "scrollbar": self.faint,
                "scrollbar-hover": self.hover,
                "scrollbar-background": self.background,
            },
        )


# fmt: off
LOOKS = {look.name: look for look in (
    Look("sam", True, "#d5d9e0", "#14171c", "#1a1e25",
            "#232833", "#7aa2d6", "#5f7fa8", "#e0af68", "#8fbf7f", "#e06c75",
            "#363d4a", "#4a5364", "#93979d", "#8c8f95"),
    Look("sam-light", False, "#22262d", "#f7f6f2", "#efede6",
            "#e2dfd5", "#2a5d9f", "#54749c", "#8d5300", "#2b6f2d", "#b3261e",
            "#c4c0b3", "#a7a293", "#5f6264", "#616364"),
    Look("night", True, "#cdd6f4", "#0f1020", "#151730",
            "#1e2142", "#89a8f7", "#8a7fd0", "#f2a97e", "#94d19a", "#f3849b",
            "#343864", "#474c80", "#8c93ac", "#858a9e"),
    Look("ember", True, "#e6d9cb", "#1b1512", "#231b17",
            "#2e241e", "#e29a5b", "#b98463", "#e8c268", "#a8bf78", "#ee7d68",
            "#4a3a30", "#5f4b3e", "#a1968c", "#948b83"),
    Look("forest", True, "#d3ddd0", "#101813", "#16211a",
            "#1f2d24", "#7fc29b", "#6f9f86", "#d9b866", "#9bcf6f", "#e88277",
            "#31473a", "#41604e", "#919a90", "#8c938c"),
    Look("contrast", True, "#ffffff", "#000000", "#0a0a0a",
            "#161616", "#6fc3ff", "#9ab8d0", "#ffd75f", "#7fe38a", "#ff8a8a",
            "#5a5a5a", "#7a7a7a", "#a8a8a8", "#818181"),
    Look("paper", False, "#33291f", "#faf4e6", "#f3ebd8",
            "#e8ddc4", "#8a4b16", "#7d6440", "#835800", "#4c6a1b", "#a8321f",
            "#cbbf9f", "#b0a27f", "#665f55", "#686157"),
    Look("frost", False, "#1f2a36", "#f4f8fb", "#e9f0f6",
            "#dbe6ef", "#0f5f8f", "#4b7390", "#7d5a00", "#1d7050", "#a92a44",
            "#b9c9d6", "#97adbd", "#5e666e", "#60676d"),
    Look("contrast-light", False, "#000000", "#ffffff", "#f5f5f5",
            "#ebebeb", "#003f8f", "#2f4f73", "#6b4300", "#0b5a17", "#97000c",
            "#8a8a8a", "#6a6a6a", "#4d4d4d", "#696969"),
)}
# fmt: on
"""The looks by name. Contrast is at least 4.5 to 1 (WCAG AA), of plain text in high contrast 7 (AAA)."""
VARIABLES: dict[str, dict[str, str]] = {}
"""The variables of style sheets, by the name of each look that was in use."""
DARK, LIGHT = LOOKS["sam"], LOOKS["sam-light"]

ANSI_DARK = TerminalTheme(
    (20, 23, 28),
    (213, 217, 224),
    [
        (42, 48, 58),
        (224, 108, 117),
        (143, 191, 127),
        (224, 175, 104),
        (122, 162, 214),
        (198, 134, 208),
        (97, 190, 196),
        (200, 205, 213),
    ],
    [
        (110, 118, 132),
        (240, 135, 142),
        (168, 214, 152),
        (240, 200, 138),
        (152, 188, 234),
        (218, 160, 226),
        (130, 214, 220),
        (240, 242, 246),
    ],
)
"""The sixteen colours for programs in a terminal, on a dark background."""

ANSI_LIGHT = TerminalTheme(
    (247, 246, 242),
    (34, 38, 45),
    [
        (34, 38, 45),
        (179, 38, 30),
        (47, 122, 50),
        (143, 86, 0),
        (42, 93, 159),
        (134, 58, 150),
        (0, 112, 122),
        (150, 147, 138),
    ],
    [
        (98, 103, 112),
        (206, 60, 50),
        (60, 142, 64),
        (168, 106, 10),
        (58, 116, 190),
        (158, 80, 174),
        (10, 134, 144),
        (190, 187, 178),
    ],
)
"""The same on a light background."""


def theme_of(name: str, ground: "Ground | None") -> str:
    """The theme of a setting: by name, or the one for the terminal's background."""
    if name in LOOKS:
        return name
    return LIGHT.name if ground == "light" else DARK.name


Ground = Literal["dark", "light"]
ASK_GROUND = "\x1b]11;?\x1b\\"
"""Asks a terminal for its background colour (OSC 11)."""
_LIGHT_COLOURS = ("7", "15")


def ground_of_environment(environ: Mapping[str, str]) -> Ground | None:
    """Light or dark by ``COLORFGBG`` (such as ``15;0``); None if it is not set."""
    colour = environ.get("COLORFGBG", "").rpartition(";")[2]
    if not colour.isdigit():
        return None
    return "light" if colour in _LIGHT_COLOURS else "dark"
