"""Variables that no settings file sets: secrets, the surroundings, and variables passed on."""

SECRETS = {
    "SAM_TUI_API_KEY": "the key of the model; it takes precedence over those of the providers",
    "OPENAI_API_KEY": "OpenAI",
    "OPENROUTER_API_KEY": "OpenRouter",
    "MISTRAL_API_KEY": "Mistral",
    "DEEPSEEK_API_KEY": "DeepSeek",
    "GROQ_API_KEY": "Groq",
    "XAI_API_KEY": "xAI",
    "TOGETHERAI_API_KEY": "Together AI",
    "TOGETHER_API_KEY": "Together AI",
    "MOONSHOT_API_KEY": "Moonshot",
    "ANTHROPIC_API_KEY": "Anthropic",
    "GEMINI_API_KEY": "Gemini",
    "GOOGLE_API_KEY": "Gemini",
    "BRAVE_API_KEY": "Brave search",
    "TAVILY_API_KEY": "Tavily search",
    "SEARCH_API_KEY": "Google Custom Search",
    "SERPAPI_API_KEY": "SerpApi",
    "SAM_TUI_EMBEDDING_API_KEY": "the key of the embedding model",
    "SAM_TUI_IMAGE_KEY": "the key of the image endpoint; for OpenAI `OPENAI_API_KEY` is enough",
    "OTEL_EXPORTER_OTLP_HEADERS": "headers for requests to the trace collector",
    "SAM_TUI_FLEET_KEY": "the secret with which the processes of a [fleet](fleet.md) "
    "authenticate each other",
    "SAM_TUI_DATABASE_URL": "a PostgreSQL database for the queues of [fleets](fleet.md), with "
    "its password; without it a file in the data folder",
}
"""Variables with secrets, which no settings file can set."""


def key_variable(provider: str) -> str:
    """The variable of a provider's key, by its name or the variable's; empty where there is none."""
    name = provider.strip().upper().replace("-", "_")
    names = (name, f"{name}_API_KEY", f"{name.replace('_', '')}_API_KEY")
    return next((n for n in names if n in SECRETS), "")


SURROUNDINGS = {
    "SAM_TUI_CONFIG_DIR": "the folder of settings, policy, trust, hooks, servers, workflows "
    "and tables of APIs",
    "HOME": "the home folder",
    "PWD": "set for the command that a rehearsal runs",
    "PATH": "the folders that are searched for programs",
    "SHELL": "the shell of terminals, if it is bash or zsh",
    "ZDOTDIR": "the folder of zsh's own settings",
    "VISUAL": "the editor",
    "EDITOR": "the editor, if `VISUAL` is not set",
    "PAGER": "the pager",
    "BROWSER": "the program that opens pages",
    "DISPLAY": "whether there is a desktop",
    "WAYLAND_DISPLAY": "whether there is a desktop",
    "TERM": "the type of the terminal",
    "TERM_PROGRAM": "the name of the terminal",
    "TERM_PROGRAM_VERSION": "its version",
    "COLORTERM": "whether the terminal has true colour",
    "COLORFGBG": "whether its background is light or dark, until the terminal itself answers",
    "NO_COLOR": "turns colours off",
    "TMUX": "whether the clipboard goes through tmux",
    "ESCDELAY": "milliseconds after which Esc counts as a key of its own",
    "TEXTUAL_FPS": "the most frames per second",
    "LC_ALL": "the encoding of the terminal",
    "LC_CTYPE": "the same",
    "LANG": "the same",
    "PYTHONIOENCODING": "the same",
    "PYTHONUTF8": "the same",
    "PYTHONPATH": "its absolute folders come after the installed packages",
    "SSH_AUTH_SOCK": "the ssh agent, for workspaces of fleets on other machines",
}
"""Other variables that the program reads; no settings file can set them."""

PASSED_ON = {
    "SAM_TUI_PROJECT_DIR": "[hooks](hooks.md): the workspace",
    "SAM_TUI_HOOK_EVENT": "[hooks](hooks.md): the event",
    "SAM_TUI_RUN": "commands in the [sandbox](sandbox.md): identifies their processes",
    "SAM_TUI_ZDOTDIR": "zsh in a terminal: the folder of its own settings",
}
"""Variables that the program sets for programs it starts."""
