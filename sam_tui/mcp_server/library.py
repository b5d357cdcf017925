"""A server's offers besides tools: resources by URI, and prompts by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import mcp_types as types
from mcp.shared.exceptions import MCPError

from sam_tui.core.events import Event
from sam_tui.mcp_server.clients import Client, Context, is_modern

RESOURCE_NOT_FOUND: Final = -32002
"""The error code in protocol versions before 2026-07-28; later ones use Invalid params."""


class NotFound(Exception):
    """There is no such resource. ``data`` has details as plain JSON."""

    def __init__(self, message: str, data: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.data: Mapping[str, object] = data or {}


class Resources(Protocol):
    """Resources of one URI scheme."""

    scheme: str
    templates: tuple[types.ResourceTemplate, ...]

    def listed(self, client: Client) -> Sequence[types.Resource]:
        """The resources that exist now."""
        ...

    async def read(
        self, uri: str, client: Client
    ) -> types.TextResourceContents | types.BlobResourceContents:
        """The content of a resource. Raises ``NotFound``."""
        ...

    def completions(
        self, template: str, argument: str, earlier: Mapping[str, str]
    ) -> Sequence[str]:
        """Every value that an argument of a template may have."""
        ...

    def touched(self, event: Event, client: Client) -> Sequence[str]:
        """Canonical URIs that read differently after an event, for a client."""
        ...

    def canonical(self, uri: str) -> str:
        """Return one spelling for each resource; any other text unchanged."""
        ...


class Prompts(Protocol):
    """Prompts by name."""

    def listed(self) -> Sequence[types.Prompt]: ...
    def get(self, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult | None:
        """The prompt, or None. Raises ``MCPError`` for arguments that do not fit."""
        ...

    def completions(self, name: str, argument: str) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Library:
    """All resources and prompts of one server."""

    resources: tuple[Resources, ...] = ()
    prompts: tuple[Prompts, ...] = ()

    def of(self, uri: str) -> Resources | None:
        """Return the resources of a URI's scheme, None for an unknown scheme."""
        scheme = uri.partition("://")[0].lower()
        return next((source for source in self.resources if source.scheme == scheme), None)

    async def read(self, uri: str, context: Context, client: Client) -> types.ReadResourceResult:
        """One resource. Raises ``MCPError`` with the code that the protocol version has for it."""
        source = self.of(uri)
        try:
            if source is None:
                raise NotFound(f"There is no resource {uri}")
            return types.ReadResourceResult(contents=[await source.read(uri, client)])
        except NotFound as missing:
            code = types.INVALID_PARAMS if is_modern(context) else RESOURCE_NOT_FOUND
            raise MCPError(code, str(missing), {"uri": uri, **missing.data}) from None

    def get_prompt(self, name: str, arguments: Mapping[str, str]) -> types.GetPromptResult:
        """The prompt of a name, filled in. Raises ``MCPError`` for an unknown name."""
        answers = (source.get(name, arguments) for source in self.prompts)
        prompt = next((prompt for prompt in answers if prompt is not None), None)
        if prompt is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {name!r}")
        return prompt

    def complete(self, params: types.CompleteRequestParams) -> types.Completion:
        """The known values that begin with the typed text; none for an unknown resource or prompt."""
        argument, context = params.argument, params.context
        arguments = (context.arguments if context is not None else None) or {}
        matches: Sequence[str] = ()
        match params.ref:
            case types.ResourceTemplateReference(uri=uri):
                source = self.of(uri)
                matches = source.completions(uri, argument.name, arguments) if source else ()
            case types.PromptReference(name=name):
                matches = [v for p in self.prompts for v in p.completions(name, argument.name)]
        typed = argument.value.lower()
        values = [value for value in dict.fromkeys(matches) if value.lower().startswith(typed)]
        return types.Completion(values=values[:100], total=len(values), has_more=len(values) > 100)
