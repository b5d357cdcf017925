"""A style sheet that parses each source once for a theme."""

from textual.css.stylesheet import Stylesheet


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
