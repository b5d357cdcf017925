"""The variables that commands and sessions start with."""

import os
from collections.abc import Callable
from typing import Final

from sam_tui.core.authorization.variables import PassedVariables, how_to_pass

PROVIDER_KEYS: Final = frozenset({
    "SAM_TUI_API_KEY",
    "AI21_API_KEY",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AZURE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "CO_API_KEY",
    "COHERE_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPINFRA_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_AI_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "HYPERBOLIC_API_KEY",
    "LITELLM_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "NOVITA_API_KEY",
    "NVIDIA_NIM_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "PERPLEXITYAI_API_KEY",
    "PERPLEXITY_API_KEY",
    "REPLICATE_API_KEY",
    "SAMBANOVA_API_KEY",
    "TOGETHERAI_API_KEY",
    "TOGETHER_API_KEY",
    "VOLCENGINE_API_KEY",
    "WATSONX_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
})
"""Keys of model providers. They cost money, and commands of the agent never need them."""
NONE_PASSED: Final = PassedVariables(reserved=PROVIDER_KEYS)
"""For a person who named no variable."""

_COLOUR_FORCING = frozenset({"FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM"})


class Misses:
    """Withheld variables that failed commands may have needed: each is reported once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._reported: set[str] = set()

    def of(self, passed: PassedVariables, command: str, output: str) -> tuple[str, ...]:
        """The names of those that a failed command may have wanted."""
        missed = passed.missed(os.environ, command, output)
        if fresh := [name for name in missed if name not in self._reported]:
            self._reported.update(fresh)
            self._tell(
                f"A command failed that may have wanted variables that look like secrets and are"
                f" withheld from commands: {', '.join(fresh)}. {how_to_pass(fresh)}"
            )
        return missed


def nobody(_: str) -> None:
    """Ignores a message that nobody listens to."""


def command_environment(
    scratch: str | None, passed: PassedVariables = NONE_PASSED
) -> dict[str, str]:
    """For a command without a terminal: no secrets but those ``passed``, no pager, no prompt, no colour.

    ``scratch`` becomes its temporary folder; None leaves the system's.
    """
    variables = _without(frozenset(passed.withheld(os.environ)) | _COLOUR_FORCING)
    variables.update(
        TERM="dumb",
        PAGER="cat",
        GIT_PAGER="cat",
        MANPAGER="cat",
        GIT_TERMINAL_PROMPT="0",
        NO_COLOR="1",
    )
    return _with_scratch(variables, scratch)


def session_environment(
    scratch: str | None, *, personal: bool, passed: PassedVariables = NONE_PASSED
) -> dict[str, str]:
    """For a shell on a terminal. A ``personal`` one keeps every variable the person has."""
    variables = _without(frozenset() if personal else frozenset(passed.withheld(os.environ)))
    # Variables about the terminal around the program do not describe the one inside it.
    for name in ("LINES", "COLUMNS", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "NO_COLOR"):
        variables.pop(name, None)
    variables.update(TERM="xterm-256color", COLORTERM="truecolor")
    return _with_scratch(variables, scratch)


def _without(names: frozenset[str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in names}


def _with_scratch(variables: dict[str, str], scratch: str | None) -> dict[str, str]:
    if scratch is not None:
        variables.update(TMPDIR=scratch, TMP=scratch, TEMP=scratch)
    return variables
