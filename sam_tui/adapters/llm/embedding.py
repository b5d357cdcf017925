"""Embeddings through litellm, where the person configured a model for them."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sam_tui.adapters.llm.endpoint import host_of
from sam_tui.adapters.llm.failures import FailureSource, ProviderRefusal, failure
from sam_tui.core.errors import ModelError, ModelRejected

MODEL, BASE, KEY = (f"SAM_TUI_EMBEDDING_{name}" for name in ("MODEL", "API_BASE", "API_KEY"))
"""The environment variables: a litellm model string, the address of its server, and the key."""
_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class LiteLLMEmbedder:
    """The ``Embedder``. litellm is loaded with the first text, on a thread."""

    name: str
    api_base: str = ""
    api_key: str = field(default="", repr=False)
    clean: Callable[[str], str] = field(default=str, repr=False)
    """Redacts secrets in the texts that are sent."""

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector for each text. Raises ``ModelError``."""
        from sam_tui.adapters.llm import litellm_model

        litellm = await asyncio.to_thread(litellm_model.load)
        options = {"api_base": self.api_base, "api_key": self.api_key}
        try:
            answer = await litellm.aembedding(
                model=self.name,
                input=list(map(self.clean, texts)),
                timeout=_SECONDS,
                num_retries=0,
                max_retries=0,
                **{name: value for name, value in options.items() if value},
            )
        except Exception as error:
            # litellm's errors share no base class; every one becomes one of ours.
            raise self._failure(error) from error
        vectors = _vectors(answer)
        if len(vectors) != len(texts):
            raise ModelRejected(f"{self.name} gave {len(vectors)} vectors for {len(texts)} texts.")
        return vectors

    def _failure(self, error: object) -> ModelError:
        where = host_of(self.api_base) if self.api_base else self.name.partition("/")[0]
        source = FailureSource(self.name, where, self.api_key, KEY, local=False)
        return failure(ProviderRefusal(getattr(error, "status_code", None), str(error)), source)


def embedder_from(
    environ: Mapping[str, str], clean: Callable[[str], str] = str
) -> LiteLLMEmbedder | None:
    """The embedder that the environment configures, or None; ``clean`` takes secrets out of texts."""
    model = environ.get(MODEL, "").strip()
    if not model:
        return None
    base, key = environ.get(BASE, "").strip(), environ.get(KEY, "").strip()
    return LiteLLMEmbedder(model, base, key, clean)


def _vectors(answer: Any) -> list[list[float]]:
    items = sorted(answer.data, key=lambda item: item["index"])
    return [[float(value) for value in item["embedding"]] for item in items]
