"""Variables that no settings file sets: secrets, what describes the surroundings, what is passed on."""

SECRETS = {
    "SAM_TUI_API_KEY": "the model's key, before those of the providers",
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
    "SAM_TUI_EMBEDDING_API_KEY": "the embedding model's",
    "SAM_TUI_IMAGE_KEY": "the image endpoint's; at OpenAI `OPENAI_API_KEY` will do",
    "OTEL_EXPORTER_OTLP_HEADERS": "headers of requests to the collector of traces",
    "SAM_TUI_FLEET_KEY": "the secret by which the processes of a [fleet](fleet.md) know each other",
    "SAM_TUI_DATABASE_URL": "a PostgreSQL for the queues of [fleets](fleet.md), with its password; "
    "without it a file in the data folder",
}
"""Variables that hold secrets: they stand in no settings file."""


def key_variable(provider: str) -> str:
    """The variable of a provider's key, by its name or the variable's; empty where there is none."""
    name = provider.strip().upper().replace("-", "_")
    names = (name, f"{name}_API_KEY", f"{name.replace('_', '')}_API_KEY")
    return next((n for n in names if n in SECRETS), "")


SURROUNDINGS = {
    "SAM_TUI_CONFIG_DIR": "settings, policy, trust, hooks, servers, workflows, tables of APIs",
    "HOME": "the home folder",
    "PWD": "set for what a rehearsal starts",
    "PATH": "where programs are looked for",
    "SHELL": "the shell of terminals, where it is a bash or zsh",
    "ZDOTDIR": "where zsh's own settings are",
    "VISUAL": "the editor",
    "EDITOR": "the editor, without `VISUAL`",
    "PAGER": "the pager",
    "BROWSER": "what opens a page",
    "DISPLAY": "whether there is a desktop",
    "WAYLAND_DISPLAY": "whether there is a desktop",
    "TERM": "what the terminal is",
    "TERM_PROGRAM": "which terminal it is",
    "TERM_PROGRAM_VERSION": "and of which version",
    "COLORTERM": "whether it has true colour",
    "COLORFGBG": "whether its ground is light or dark, until it answers for itself",
    "NO_COLOR": "no colours are drawn",
    "TMUX": "whether the clipboard goes through tmux",
    "ESCDELAY": "milliseconds after which Esc is a key of its own",
    "TEXTUAL_FPS": "how often the screen is drawn in a second at most",
    "LC_ALL": "the encoding of the terminal",
    "LC_CTYPE": "the same",
    "LANG": "the same",
    "PYTHONIOENCODING": "the same",
    "PYTHONUTF8": "the same",
    "PYTHONPATH": "its absolute folders come behind the installed packages",
    "SSH_AUTH_SOCK": "the agent of ssh, for workspaces of fleets on other machines",
}
"""What else is read of the environment; it describes the surroundings and stands in no settings file."""

PASSED_ON = {
    "SAM_TUI_PROJECT_DIR": "[hooks](hooks.md): the workspace",
    "SAM_TUI_HOOK_EVENT": "[hooks](hooks.md): the event",
    "SAM_TUI_RUN": "commands in the [sandbox](sandbox.md): by it their processes are found",
    "SAM_TUI_ZDOTDIR": "zsh in a terminal: where its own settings are",
}
"""Set for programs that are started."""
