"""The model: requests, answers, and the catalog of models; and models that embed texts."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sam_tui.core.messages import Message
from sam_tui.core.usage import Price, Usage


class Embedder(Protocol):
    """Texts -> vectors of one length. Raises ``errors.ModelError``."""

    @property
    def name(self) -> str:
        """The model's name: only vectors of the same model are compared."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector for each text; its length need not be 1."""
        ...


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """The largest answer that is accepted from a model.

    ``size``: bytes of text, reasoning and arguments together; ``calls``: calls in one message;
    ``arguments``: bytes of one call's arguments; ``depth``: how deep they are nested.
    """

    size: int = 8 * 1024 * 1024
    calls: int = 128
    arguments: int = 4 * 1024 * 1024
    depth: int = 64


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call to a model.

    ``tools_json`` is the canonical JSON text of the OpenAI-style tools array (``[]`` for none): the
    same bytes in every process. ``messages`` only ever grows at its end within a conversation.
    ``limits`` are those of the answer.
    """

    system: str
    tools_json: str
    messages: Sequence[Message]
    limits: AnswerLimits = AnswerLimits()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A piece of the reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of a tool call. ``id`` and ``name`` are empty where they came before."""

    index: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class OpaqueDelta:
    """Provider data to send back unchanged with the assistant message; later keys win."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """The tokens and money that the call used; at most once, near the end."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class TruncatedDelta:
    """The model's own limit on the length of an answer was reached: there would be more."""


Delta = TextDelta | ReasoningDelta | CallDelta | OpaqueDelta | UsageDelta | TruncatedDelta


class Model(Protocol):
    """A model behind any wire. Never retries by itself; raises ``errors.ModelError`` only."""

    @property
    def name(self) -> str:
        """The name in the status bar, such as ``openai/gpt-4o``."""
        ...

    @property
    def host(self) -> str:
        """The target of requests: host and port, or a provider's name; empty if they go nowhere."""
        ...

    @property
    def context_tokens(self) -> int | None:
        """The most tokens of a request and its answer together, or None if that is not known."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
        """The pieces of the answer as they arrive. Ends normally only if the provider said that the answer
        was complete or cut at its length limit (``TruncatedDelta``)."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """Facts about a model before it is used; None for an unknown one.

    ``context_tokens``: of request and answer together; ``images``, ``tools``: whether it takes them.
    """

    context_tokens: int | None = None
    images: bool | None = None
    tools: bool | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class ModelOffer:
    """A model that can be used now. ``source`` says in words where it was found."""

    label: str
    model: str
    source: str
    api_base: str = ""
    in_use: bool = False
    facts: ModelFacts = field(default=ModelFacts(), compare=False)


class ModelCatalog(Protocol):
    """The models to choose from, and the way to open one.

    Address and key belong together: a name without an address is one at the address that the person
    gave, as long as that can speak to it, and their key goes to its own host alone.
    """

    async def offers(self, current: Model | None = None) -> Sequence[ModelOffer]:
        """The model in use, those of the server that the person named, local servers that answer,
        models whose key is in the environment, the scripted one."""
        ...

    def host(self, offer: ModelOffer) -> str:
        """The host of requests to the offered model, as ``Model.host`` has it."""
        ...

    def price(self, offer: ModelOffer) -> Price | None:
        """Return the price of the model if it is known before a call. Reads a large file."""
        ...

    def key_variable(self, offer: ModelOffer) -> str:
        """The variable that holds the key of the offer's provider, at its own host alone; else empty."""
        ...

    def service(self, name: str) -> ModelOffer:
        """The model of an AI service, by its provider: the one asked for where it is of that provider,
        else the provider's usual one where its key is at hand. Raises ``UsageError``."""
        ...

    def open(
        self, offer: ModelOffer, *, key: str = "", options: Mapping[str, Any] | None = None
    ) -> Model:
        """The offered model, ready to stream. A ``key`` is used for its host from then on;
        ``options`` are further fields of its requests."""
        ...
