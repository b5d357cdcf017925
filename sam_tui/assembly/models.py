"""The models and the web of a runtime, as options and environment configure them."""

import os
import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from sam_tui.assembly.options import DEFAULT_TIMEOUT
from sam_tui.assembly.sandbox import Processes
from sam_tui.assembly.stores import once
from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.core.ports.model import ModelOffer
from sam_tui.core.services import Online

if TYPE_CHECKING:
    from sam_tui.core.ports.model import Model, ModelFacts
    from sam_tui.core.usage import Price


class Providers(Processes):
    """The part of a runtime that reaches other machines by itself."""

    @once
    def catalog(self):
        """The models to choose from."""
        from sam_tui.adapters.llm.catalog import ProviderCatalog
        from sam_tui.adapters.llm.choice import Wish

        options = self.options
        timeout = options.request_timeout or DEFAULT_TIMEOUT
        wish = Wish(options.model, options.api_base, options.api_key, options.provider, timeout)
        return ProviderCatalog(self.environ, wish=wish, prices=self.prices, facts=_known)

    def prices(self) -> "Mapping[str, Price]":
        """The person's own prices; their reader is loaded where there is a file."""
        if not os.path.lexists(os.path.join(self.folders.config_dir, "prices.toml")):
            return {}
        from sam_tui.adapters.model_facts import read_prices

        return read_prices(self.folders.config_dir)

    @property
    def model_source(self):
        """The models of workflow steps: those named for purposes, and the catalog's."""
        from sam_tui.core.workflow.drivers.models import ModelSource, purposes_from

        return ModelSource(purposes_from(self.environ), self.catalog)

    @property
    def default_model(self) -> str:
        """The model that was asked for."""
        return self.options.model

    def open_model(self, name: str, options: Mapping[str, object] | None = None) -> "Model":
        """The model of that name, reached as the person asked for theirs. Raises ``SamError``."""
        if self.options.offline:
            raise ConfigurationError(f"{name} was not asked: no provider is asked here.")
        return self.catalog.open(ModelOffer(name, name, ""), options=options)

    def model_host(self, name: str) -> str:
        """Return the target of requests to that model, or to the default one if the name is empty."""
        name = name or self.default_model
        return self.catalog.host(ModelOffer(name, name, "")) if name else ""

    def chosen_model(self) -> "Model | None":
        """The model or the agent that was asked for, with models that answer while the first cannot.

        Raises ``SamError``.
        """
        options = self.options
        if options.agent is not None:
            return self._agent(options.agent)
        if not options.model:
            return None
        names = options.fallback_models or self.environ.get("SAM_TUI_FALLBACK_MODEL", "").split(",")
        others = [name for name in map(str.strip, names) if name and name != options.model]
        model = self.open_model(options.model)
        if not others:
            return model
        from sam_tui.core.agent.retry import FallbackModel

        models = [model, *map(self.open_model, others)]
        redact = self.shield.redact
        return FallbackModel(models, self.clock.monotonic, lambda text: self._warn(redact(text)))

    def _agent(self, line: str) -> "Model":
        """The model that the command line of another agent starts. Raises ``UsageError``."""
        from sam_tui.adapters.acp_client import AgentHost, AgentModel

        try:
            words = tuple(shlex.split(line))
        except ValueError as error:
            raise UsageError(f"--agent is not a command line: {error}.") from error
        if not words:
            raise UsageError("--agent names no program.")
        host = AgentHost(
            words,
            self.executor,
            self.guard,
            self.files,
            lambda: self.piped,
            lambda: self.named_reads.of(words, self.workspace.root),
            self.publish,
            self.budgets.conversation,
        )
        return AgentModel(host)

    @once
    def online(self) -> Online:
        """The web as the environment configures it; a private address is open only if it is named there."""
        from sam_tui.adapters.images import EndpointImages, image_settings
        from sam_tui.adapters.web import GuardedWeb, read_api_tables, search_from, serpapi_from

        local = frozenset(self.layers.local)
        web, environ = GuardedWeb(clock=self.clock, allowed=local), self.environ
        settings, images = image_settings(environ), None
        if settings is not None:
            images = EndpointImages(GuardedWeb(allowed=local | {settings.origin}), settings)
        return Online(
            web,
            search_from(web, environ),
            serpapi_from(web, environ),
            images,
            lambda: read_api_tables(self.folders.config_dir)[0],
        )

    @property
    def online_extras(self) -> bool:
        """Whether the environment may name an image endpoint or a SerpApi key."""
        return any(name.startswith(("SAM_TUI_IMAGE_", "SERPAPI_")) for name in self.environ)


def _known(models: "Iterable[str]") -> "Mapping[str, ModelFacts]":
    from sam_tui.adapters.model_facts import facts_of

    return facts_of(models)
