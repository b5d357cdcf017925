"""What every request of a conversation begins with: system prompt and tools, in the space there is."""

from sam_tui.core.agent.tokens import OUTPUT_TOKENS, SMALLEST, free, text_tokens
from sam_tui.core.prompt.requests import RequestBuilder
from sam_tui.core.tooling.registry import Registry

_WHOLE_LEAVES = 1 / 6
"""The share of a context that all tools must leave to messages; else only some of them are told."""
_SHORT_LEAVES = 1 / 4
"""The share that the tools of a short list leave, as far as they can."""


def opening(requests: RequestBuilder, registry: Registry, context: int | None) -> RequestBuilder:
    """The builder for a model that takes ``context`` tokens; None where that is not known.

    The same registry and context give the same bytes, so that requests keep their prefix. A context
    that is too short for even the shortest opening gets that one: measuring says what is missing.
    """
    whole = requests.narrowed(registry.schemas_json)
    if context is None:
        return whole
    left = free(context, output=OUTPUT_TOKENS)
    if left - text_tokens(whole.fixed_text) >= max(SMALLEST, context * _WHOLE_LEAVES):
        return whole
    system = requests.short_system
    room = left - text_tokens(system) - max(SMALLEST, round(context * _SHORT_LEAVES))
    return requests.narrowed(registry.short_schemas(max(0, room * 4)), system=system)
