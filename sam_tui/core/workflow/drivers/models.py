"""The models of a run: by purpose, by the service of its task, or as a step of a plan asks for one.

A step's own ``model`` is the word of a planner. It is opened where requests go anyway: to the host of
the model in use, of a model that the person named for a purpose, or of the task's service.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from sam_tui.core.errors import ConfigurationError, UsageError
from sam_tui.core.ports.model import Model, ModelCatalog, ModelOffer
from sam_tui.core.workflow.views import StepView, WorkflowRefused

if TYPE_CHECKING:
    from sam_tui.core.workflow.definitions.model import Step
    from sam_tui.core.workflow.definitions.stages import Sampling

Purpose = Literal["planning", "synthesis", "summary", "context", "step"]
VARIABLES: Final[Mapping[Purpose, str]] = {
    "planning": "SAM_TUI_PLANNING_MODEL",
    "synthesis": "SAM_TUI_SYNTHESIS_MODEL",
    "summary": "SAM_TUI_SUMMARY_MODEL",
    "context": "SAM_TUI_CONTEXT_MODEL",
    "step": "SAM_TUI_STEP_MODEL",
}
"""The environment variable that names the model of each purpose."""
ASKING: Final = frozenset({"agent", "llm", "plan"})
"""The kinds of steps that send requests to a model."""
SYNTHESIZER = "synthesizer"
"""The persona of steps that synthesise."""


def purposes_from(environment: Mapping[str, str]) -> dict[Purpose, str]:
    """The models that an environment names, by purpose."""
    return {
        purpose: name
        for purpose, variable in VARIABLES.items()
        if (name := environment.get(variable, "").strip())
    }


def purpose_of(kind: str, step: str, persona: str) -> Purpose | None:
    """The purpose by which a step's model is set, or None."""
    if kind == "plan":
        return "planning"
    if "/" in step:
        return "step"
    return "synthesis" if kind == "llm" and persona == SYNTHESIZER else None


@dataclass(frozen=True, slots=True)
class ModelSource:
    """Other models than the one in use: those that the person named by purpose, and the catalog's."""

    purposes: Mapping[Purpose, str]
    catalog: ModelCatalog


class RunModels:
    """The models of one run, each opened when it is first needed; ``close`` at the end of the run."""

    def __init__(self, current: Model | None, source: ModelSource, service: str = "") -> None:
        self._current = current
        self._purposes = source.purposes
        self._catalog = source.catalog
        self._service = self._catalog.service(service) if service else None
        self._opened: dict[str, Model] = {}

    def of(self, purpose: Purpose | None, wish: "Sampling | None" = None) -> Model:
        """Return the model for a purpose, or the one that a step asks for.

        Raises ``ConfigurationError`` if there is none, ``WorkflowRefused`` (``model_elsewhere``)
        for a step's model at a host that the task may not use.
        """
        name, options = (wish.model, wish.options) if wish else ("", {})
        offer = self._offer(purpose)
        if name and (offer is None or name != offer.model):
            offer = self._wished(name)
        if offer is None:
            raise _none_chosen()
        current = self._current
        if current is not None and offer.in_use and not options:
            return current
        key = json.dumps([offer.model, offer.api_base, options], sort_keys=True)
        if key not in self._opened:
            self._opened[key] = self._catalog.open(offer, options=options)
        return self._opened[key]

    def require(self, steps: "Iterable[Step | StepView]") -> None:
        """Raise ``ConfigurationError`` where one of the steps asks a model and there is none for it."""
        for step in steps:
            purpose = purpose_of(step.kind, step.id, step.persona)
            if step.kind in ASKING and self._offer(purpose) is None:
                raise _none_chosen()

    async def close(self) -> None:
        """Close the models that were opened."""
        for model in self._opened.values():
            await model.close()
        self._opened.clear()

    def _offer(self, purpose: Purpose | None) -> ModelOffer | None:
        """By the purpose, else the task's service, else the model in use.

        Where the task has a service, only purposes whose model is of it count.
        """
        named = self._purposes.get(purpose, "") if purpose else ""
        service = self._service
        if named and (service is None or _provider(named) == _provider(service.model)):
            return ModelOffer(named, named, "")
        if service is not None:
            return service
        current = self._current
        return ModelOffer(current.name, current.name, "", in_use=True) if current else None

    def _wished(self, name: str) -> ModelOffer:
        """A step's model. Raises ``WorkflowRefused`` where its host is none of the task's."""
        offers = [o for p in (*VARIABLES, None) if (o := self._offer(p))]
        for offer in offers:
            if offer.model == name:
                return offer
        wished = ModelOffer(name, name, "")
        try:
            host = self._catalog.host(wished)
        except UsageError as error:
            raise _elsewhere(name, str(error)) from None
        hosts = {self._catalog.host(offer) for offer in offers}
        if not host or host not in hosts:
            where = ", ".join(sorted(filter(None, hosts))) or "no host"
            raise _elsewhere(name, f"it is at {host or 'no host'}, and this task goes to {where}")
        return wished


def _none_chosen() -> ConfigurationError:
    return ConfigurationError("No model is chosen.", hint="Choose one with --model.")


def _provider(model: str) -> str:
    return model.partition("/")[0]


def _elsewhere(name: str, why: str) -> WorkflowRefused:
    return WorkflowRefused(
        "model_elsewhere",
        f"The step asks for the model {name!r}: {why}.",
        hint="Leave the model out, or choose one of that host.",
    )
