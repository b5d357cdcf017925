"""Every setting, once: files, environment, options, schema, screen and docs come from this table."""

from dataclasses import dataclass
from typing import Literal

Value = str | int | float | bool | tuple[str, ...]
Kind = Literal["text", "address", "command", "whole", "number", "switch", "words"]
"""A text, an http(s) address, a command line, a number (whole or not), true or false, a list of texts."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: its key, kind, bounds, and the places that may set it.

    ``key`` is its section and its name, ``env`` the variable that sets it, ``option`` the parameter
    of the command line. An empty default means that it is not set. ``most`` 0 is no limit.
    ``project`` says whether a trusted folder may set it: anything (``free``), true alone
    (``on``), entries beside those of the person (``more``), or nothing.
    """

    key: str
    kind: Kind
    about: str
    default: Value = ""
    env: str = ""
    option: str = ""
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = 0
    project: Literal["", "free", "on", "more"] = ""

    @property
    def section(self) -> str:
        """The section of the setting, which is a table in files."""
        return self.key.partition(".")[0]

    @property
    def name(self) -> str:
        """The name of the setting within its section."""
        return self.key.partition(".")[2]


SECTIONS = {
    "model": "The model",
    "agent": "The agent",
    "screen": "The screen",
    "run": "Headless runs",
    "acp": "The agent in an editor",
    "addresses": "Addresses of providers",
    "web": "Web search and documentation",
    "embedding": "Embeddings",
    "images": "Images",
    "status": "The status line",
    "keys": "Keys",
    "places": "Places",
}
"""The tables of a settings file in order, each with its title."""

# fmt: off
SETTINGS: tuple[Setting, ...] = (
    Setting("model.name", "text",
            "The model, such as `openai/gpt-4o`",
            env="SAM_TUI_MODEL", option="model", project="free"),
    Setting("model.fallback", "words",
            "Models that answer, in this order, while it is overloaded, limited, unreachable "
            "or gone; after five minutes it is tried again",
            default=(), env="SAM_TUI_FALLBACK_MODEL", option="fallback_models"),
    Setting("model.api_base", "text",
            "The address that serves it",
            env="SAM_TUI_API_BASE", option="api_base"),
    Setting("model.provider", "text",
            "The client that talks to it",
            default="auto", option="provider", choices=("auto", "direct", "litellm")),
    Setting("model.context_tokens", "whole",
            "Tokens of its context window, if the provider does not report them ([small "
            "models](small-models.md)); the status bar shows the share in use (`ctx 17%`), "
            "`/context` what uses it",
            default=0, env="SAM_TUI_CONTEXT_TOKENS", option="context_tokens", least=1024),
    Setting("model.request_timeout", "number",
            "The longest time in seconds that a provider may be silent",
            default=300.0, option="request_timeout", least=0.1),
    Setting("model.compaction", "text",
            "What writes the notes on messages that [leave its "
            "context](context.md#compaction): the model, or fixed rules without a model",
            default="model", env="SAM_TUI_COMPACTION", choices=("model", "rules")),
    Setting("model.planning", "text",
            "The model that makes and revises plans",
            env="SAM_TUI_PLANNING_MODEL"),
    Setting("model.step", "text",
            "The model for steps of plans that do not name one",
            env="SAM_TUI_STEP_MODEL"),
    Setting("model.synthesis", "text",
            "The model for the final answer of a plan (steps of the persona `synthesizer`)",
            env="SAM_TUI_SYNTHESIS_MODEL"),
    Setting("model.summary", "text",
            "The model for summaries of long results of plans",
            env="SAM_TUI_SUMMARY_MODEL"),
    Setting("model.context", "text",
            "The model for the working context of plans",
            env="SAM_TUI_CONTEXT_MODEL"),
    Setting("agent.system_prompt", "text",
            "The id of a system prompt (`sam-tui prompts list`), or your own text",
            option="system_prompt", project="free"),
    Setting("agent.personality", "text",
            "How the agent speaks (`sam-tui prompts list`)",
            option="personality", project="free"),
    Setting("agent.disallowed_tools", "words",
            "Tools that the agent cannot see or call",
            default=(), option="disallowed_tools", project="more"),
    Setting("agent.rehearse", "switch",
            "Try commands that do more than read on a copy of the workspace first",
            default=False, option="rehearse", project="on"),
    Setting("agent.answer_minutes", "number",
            "Minutes after which an unanswered approval is refused; 0 waits without end",
            default=0.0, env="SAM_TUI_ANSWER_MINUTES", most=10_080),
    Setting("agent.sampling_tokens", "whole",
            "Tokens that each MCP server may use of the model in one conversation, read and "
            "written; you allow each answer ([sampling](mcp.md#sampling)); 0 turns sampling "
            "off",
            default=20_000, env="SAM_TUI_SAMPLING_TOKENS"),
    Setting("agent.workflow_mode", "switch",
            "Continue while the model says that it is not done",
            default=False, option="workflow_mode"),
    Setting("agent.profile", "text",
            "Tools of a profile in addition to the built-in ones",
            option="profile", choices=("", "iron-manus")),
    Setting("screen.theme", "text",
            "The theme; `auto` chooses `sam` or `sam-light` by the background of the terminal, and again "
            "when the window gets the focus",
            default="auto",
            choices=("auto", "sam", "sam-light", "night", "ember", "forest", "paper", "frost",
                     "contrast", "contrast-light")),
    Setting("screen.inline", "switch",
            "Print finished text as ordinary output that the terminal keeps, and draw only in "
            "its last rows ([inline](terminal.md#inline))",
            default=False, option="inline"),
    Setting("screen.reader", "switch",
            "For screen readers: plain lines with labels instead of frames, nothing moves, "
            "and events are announced ([screen readers](terminal.md#screen-readers))",
            default=False, env="SAM_TUI_SCREEN_READER", option="screen_reader"),
    Setting("screen.reduced_motion", "switch",
            "Show no animation while the agent works; the seconds in the status bar still count",
            default=False),
    Setting("screen.images", "text",
            "How to draw images: with the protocol that the terminal supports (`auto` asks "
            "it), with a named one, as half blocks, or not at all "
            "([images](terminal.md#images))",
            default="auto", choices=("auto", "kitty", "iterm", "sixel", "blocks", "off")),
    Setting("screen.vim", "switch",
            "Vim keys in the prompt: normal, insert and visual mode",
            default=False),
    Setting("screen.notify", "text",
            "How the terminal notifies you when the agent needs you: with its bell and the "
            "notifications it supports of OSC 9, 777 and 99 (`auto`), with one of them, or "
            "not at all ([attention](terminal.md#attention))",
            default="auto", env="SAM_TUI_NOTIFY",
            choices=("auto", "bell", "osc9", "osc777", "osc99", "off")),
    Setting("screen.notify_command", "command",
            "A command line that runs for each notification, with a title and a text as its "
            "last arguments",
            env="SAM_TUI_NOTIFY_COMMAND"),
    Setting("run.output_format", "text",
            "The format in which a headless run prints its answer",
            option="output_format", choices=("", "text", "json", "stream-json")),
    Setting("run.max_turns", "whole",
            "The most model calls of a run",
            default=0, option="max_turns", least=1),
    Setting("run.max_tokens", "whole",
            "The most tokens of a run, in and out",
            default=0, option="max_tokens", least=1),
    Setting("run.max_cost", "number",
            "The most US dollars of a run, if the price is known",
            default=0.0, option="max_cost", least=0.0001),
    Setting("acp.files", "text",
            "Who saves the agent's edits of text files in the workspace: this program on disk, or "
            "the editor, which then changes its buffers, too ([files](acp.md#files))",
            default="disk", env="SAM_TUI_ACP_FILES", choices=("disk", "editor")),
    Setting("acp.terminals", "text",
            "Where an editor displays what commands print: in the call, or in terminals that it "
            "makes; they run in the sandbox either way ([terminals](acp.md#terminals))",
            default="output", env="SAM_TUI_ACP_TERMINALS", choices=("output", "editor")),
    Setting("addresses.openai", "text", "OpenAI's, or that of a compatible server", env="OPENAI_BASE_URL"),
    Setting("addresses.ollama", "text", "Ollama's", env="OLLAMA_API_BASE"),
    Setting("addresses.lm_studio", "text", "LM Studio's", env="LM_STUDIO_API_BASE"),
    Setting("addresses.llamafile", "text", "Llamafile's", env="LLAMAFILE_API_BASE"),
    Setting("addresses.hosted_vllm", "text", "vLLM's", env="HOSTED_VLLM_API_BASE"),
    Setting("web.search", "text",
            "The search engine; without it the first one whose settings exist ([web "
            "search](#web-search))",
            env="SAM_TUI_SEARCH",
            choices=("", "searxng", "brave", "tavily", "google", "serpapi", "duckduckgo")),
    Setting("web.searxng", "address",
            "The address of a SearXNG instance; it may be private",
            env="SAM_TUI_SEARXNG_BASE"),
    Setting("web.google_engine", "text", "The id of a Google Custom Search", env="CSE_ID"),
    Setting("web.context7", "address",
            "The address of a Context7 server ([documentation of "
            "libraries](#documentation-of-libraries))",
            env="CONTEXT7_SERVER_URL"),
    Setting("embedding.model", "text",
            "A litellm model for the vectors of memory; without it a built-in method",
            env="SAM_TUI_EMBEDDING_MODEL"),
    Setting("embedding.api_base", "text", "The address that serves it", env="SAM_TUI_EMBEDDING_API_BASE"),
    Setting("images.api_base", "address",
            "The base address of an image endpoint, up to `/v1`; without it OpenAI's, if a "
            "model is named",
            env="SAM_TUI_IMAGE_BASE"),
    Setting("images.model", "text",
            "The image model; without it the server's default, or `gpt-image-1` at OpenAI. "
            "Without address and model there is no tool that makes images",
            env="SAM_TUI_IMAGE_MODEL"),
    Setting("status.command", "words",
            "A program with its arguments; the status bar shows its first line of output. It "
            "reads the state as JSON from standard input, and its environment has no secrets",
            default=()),
    Setting("status.seconds", "number",
            "Seconds between two runs of the program; each run may take two",
            default=5.0, least=1, most=3600),
    Setting("places.data_dir", "text",
            "The folder of conversations, logs, prompts and reminders",
            env="SAM_TUI_DATA_DIR", option="data_dir"),
    Setting("places.telemetry", "address",
            "An [OpenTelemetry](telemetry.md) collector, such as `http://127.0.0.1:4318`; "
            "without it nothing is sent",
            env="SAM_TUI_OTLP_ENDPOINT"),
    Setting("places.debug", "switch",
            "Log more, and show a traceback when the program has a defect",
            default=False, env="SAM_TUI_DEBUG", option="debug"),
)
# fmt: on
_BY_KEY = {setting.key: setting for setting in SETTINGS}


def find_setting(key: str) -> Setting | None:
    """The setting of this key, or None; in ``[keys]`` every name is one."""
    section, _, name = key.partition(".")
    if section == "keys" and name:
        return Setting(key, "words", "The keys of an action ([keys](keys.md))", ())
    return _BY_KEY.get(key)


POLICY_WORDS = frozenset({
    "mode",
    "permission_mode",
    "sandbox",
    "network",
    "rule",
    "limits",
    "permissions",
})
"""Names that people may look for in the settings, but that belong to policy.toml."""
