"""The two looks, ``sam`` for dark terminals and ``sam-light`` for light ones, and their style sheet."""

from rich.terminal_theme import TerminalTheme
from textual.css.stylesheet import Stylesheet
from textual.theme import Theme


class ThemeStylesheet(Stylesheet):
    """Textual's, without its parsing of everything anew where no variable changed.

    Textual does so twice before the first frame, and at each first opening of a dialog.
    """

    def __init__(self, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._present = variables

    def set_variables(self, variables: dict[str, str]) -> None:
        """Take the variables of a theme; what was parsed with others is dropped."""
        if variables != self._present:
            self._present = variables
            super().set_variables(variables)

    def reparse(self) -> None:
        """Parse what is new. A source with an error raises and leaves the rules as they were."""
        self.parse()


DARK = Theme(
    name="sam",
    primary="#7aa2d6",
    secondary="#5f7fa8",
    accent="#e0af68",
    foreground="#d5d9e0",
    background="#14171c",
    surface="#1a1e25",
    panel="#232833",
    success="#8fbf7f",
    warning="#e0af68",
    error="#e06c75",
    variables={
        "border": "#7aa2d6",
        "border-blurred": "#363d4a",
        "block-cursor-foreground": "#14171c",
        "block-cursor-background": "#7aa2d6",
        "block-cursor-text-style": "none",
        "input-selection-background": "#7aa2d6 35%",
        "screen-selection-foreground": "#d5d9e0",
        "button-color-foreground": "#14171c",
        "scrollbar": "#363d4a",
        "scrollbar-hover": "#4a5364",
        "scrollbar-background": "#14171c",
    },
)

LIGHT = Theme(
    name="sam-light",
    dark=False,
    primary="#2a5d9f",
    secondary="#54749c",
    accent="#9a5b00",
    foreground="#22262d",
    background="#f7f6f2",
    surface="#efede6",
    panel="#e2dfd5",
    success="#2f7a32",
    warning="#8f5600",
    error="#b3261e",
    variables={
        "border": "#2a5d9f",
        "border-blurred": "#c4c0b3",
        "block-cursor-foreground": "#f7f6f2",
        "block-cursor-background": "#2a5d9f",
        "block-cursor-text-style": "none",
        "input-selection-background": "#2a5d9f 25%",
        "screen-selection-foreground": "#22262d",
        "button-color-foreground": "#f7f6f2",
        "scrollbar": "#c4c0b3",
        "scrollbar-hover": "#a7a293",
        "scrollbar-background": "#f7f6f2",
    },
)

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
"""The sixteen colours of programs in a terminal, on dark ground."""

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
"""The same on light ground."""


def other(name: str) -> str:
    """The look that is not ``name``."""
    return LIGHT.name if name == DARK.name else DARK.name
