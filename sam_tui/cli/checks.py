"""Checks of ``sam-tui doctor`` on instruction files and on services that the environment configures."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sam_tui.core.errors import SamError
from sam_tui.folders import INSTRUCTION_FILES

State = Literal["ok", "note", "missing"]


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """The outcome of one check; ``missing`` means that a protection or a tool is not available."""

    name: str
    state: State
    detail: str
    advice: str = ""


Examination = tuple[str, Callable[[], DoctorCheck]]


def instructions(config_dir: str, workspace: str) -> DoctorCheck:
    """The files that tell the agent how to work: which it gets, and which not and why."""
    from sam_tui.adapters.policy import FileTrust
    from sam_tui.adapters.policy.trust import INSTRUCTIONS

    personal = os.path.join(config_dir, INSTRUCTION_FILES[0])
    yours = [personal] if os.path.isfile(personal) else []
    trust = FileTrust(config_dir)
    believed = trust.believed(workspace, deep=True)
    theirs = [file.name for file in believed if file.meaning.startswith(INSTRUCTIONS)]
    if theirs and trust.state(workspace) != "trusted":
        notes = [*yours, f"not trusted: {', '.join(theirs[:5])}"]
        return DoctorCheck("instructions", "note", "; ".join(notes), "sam-tui trust")
    return _used_instructions([*yours, *theirs], workspace)


def _used_instructions(names: Sequence[str], workspace: str) -> DoctorCheck:
    from sam_tui.adapters.instructions.files import why_unread

    unread: dict[str, str] = {}
    for name in names:
        personal = os.path.isabs(name)
        if why := why_unread(os.path.join(workspace, name), personal=personal):
            unread[name] = why
    used = ", ".join(name for name in names if name not in unread) or "none"
    if not unread:
        return DoctorCheck("instructions", "ok", used)
    left_out = ", ".join(f"{name} ({why})" for name, why in unread.items())
    return DoctorCheck("instructions", "note", f"{used}; left out: {left_out}")


def online_services(settings: str) -> tuple[Examination, ...]:
    """Search, embeddings, images, models, tables of APIs; ``settings`` is the person's folder."""
    return (
        ("web search", _search),
        ("embeddings", _embeddings),
        ("images", _images),
        ("models of plans", _plan_models),
        ("APIs", lambda: _api_tables(settings)),
    )


def settings_file() -> DoctorCheck:
    """Whether settings can be read, and how many are set. Raises ``ConfigurationError``."""
    from sam_tui.settings.layers import personal_settings
    from sam_tui.settings.table import SETTINGS
    from sam_tui.settings.values import missing_program, of_variable

    settings = personal_settings(os.environ)
    count = len(settings.values)
    for setting in SETTINGS:
        if setting.env and (text := os.environ.get(setting.env, "").strip()):
            of_variable(setting, text)
    if program := missing_program(settings.text("screen.notify_command")):
        fault = f"screen.notify_command runs {program}, which is not installed"
        return DoctorCheck(
            "settings file", "note", fault, f"{settings.origin('screen.notify_command')}"
        )
    return DoctorCheck("settings file", "ok", f"{count} set; “sam-tui config show --origin”")


def variables() -> DoctorCheck:
    """The variables without settings whose values are ignored or refused."""
    refused = list(_refused(os.environ))
    faults = [*refused, *_ignored(os.environ)]
    if not faults:
        return DoctorCheck("variables", "ok", "the values of all others can be used")
    state: State = "missing" if refused else "note"
    return DoctorCheck("variables", state, "; ".join(faults), "Correct or unset them.")


def _ignored(environ: Mapping[str, str]) -> Iterator[str]:
    from sam_tui.settings.values import missing_program, words_of

    for name in ("ESCDELAY", "TEXTUAL_FPS"):
        if (value := environ.get(name)) and not re.fullmatch(r"[1-9][0-9]{0,5}", value):
            yield f"{name} is {value[:40]!r} and ignored: it is a whole number from 1 to 999999"
    for name in ("VISUAL", "EDITOR", "PAGER"):
        value = environ.get(name, "")
        if words_of(value) is None or missing_program(value):
            yield f"{name} is {value[:40]!r} and ignored: it names no program that is installed"
    if headers := environ.get("OTEL_EXPORTER_OTLP_HEADERS"):
        from sam_tui.adapters.telemetry import headers_of

        for header in headers_of(headers)[1]:
            yield f"OTEL_EXPORTER_OTLP_HEADERS is name=value,name=value: {header!r} cannot be sent"


def _refused(environ: Mapping[str, str]) -> Iterator[str]:
    if environ.get("SAM_TUI_DATABASE_URL") or environ.get("SAM_TUI_FLEET_KEY"):
        from sam_tui.adapters.fleet.database import queue_terms

        try:
            queue_terms(environ, "")
        except SamError as error:
            yield f"{error} {error.hint}".strip()


def _search() -> DoctorCheck:
    """The search engine in use, and the setting that chose it."""
    from sam_tui.adapters.web.providers import CHOICE, NEEDED, engine_of
    from sam_tui.settings.values import in_environment

    name = engine_of(os.environ)
    if name == "searxng":
        in_environment(os.environ, "web.searxng")
    by = [CHOICE] if os.environ.get(CHOICE, "").strip() else []
    setting = " and ".join([*by, *NEEDED[name]]) or "no other is configured"
    serpapi = "; the operation serpapi (SERPAPI_API_KEY)" if os.environ.get(_SERPAPI) else ""
    return DoctorCheck("web search", "ok", f"{name} ({setting}){serpapi}")


_SERPAPI = "SERPAPI_API_KEY"


def _embeddings() -> DoctorCheck:
    from sam_tui.adapters.llm.embedding import MODEL, embedder_from

    embedder = embedder_from(os.environ)
    if embedder is None:
        detail = "none: memory is searched by words and built-in vectors"
        return DoctorCheck("embeddings", "note", detail, f"{MODEL} sets a model.")
    where = f" at {embedder.api_base}" if embedder.api_base else ""
    return DoctorCheck("embeddings", "ok", f"{embedder.name}{where}")


def _plan_models() -> DoctorCheck:
    """Report which purposes of plans have a model of their own."""
    from sam_tui.core.workflow.drivers.models import VARIABLES, purposes_from

    named = purposes_from(os.environ)
    if not named:
        advice = f"{', '.join(VARIABLES.values())} set others."
        return DoctorCheck("models of plans", "note", "the current model for all roles", advice)
    detail = ", ".join(f"{purpose}: {name}" for purpose, name in named.items())
    return DoctorCheck("models of plans", "ok", detail)


def _images() -> DoctorCheck:
    from sam_tui.adapters.images.settings import BASE, MODEL, image_settings

    settings = image_settings(os.environ)
    if settings is None:
        advice = f"{BASE} or {MODEL} sets one."
        return DoctorCheck("images", "note", "no endpoint that makes images", advice)
    key = "" if settings.key else ", without a key"
    return DoctorCheck(
        "images", "ok", f"{settings.model or 'its own model'} at {settings.base}{key}"
    )


def _api_tables(settings: str) -> DoctorCheck:
    """The person's own tables of APIs, for APISearch."""
    from sam_tui.adapters.web import read_api_tables

    tables, problems = read_api_tables(settings)
    if problems:
        return DoctorCheck("APIs", "missing", "; ".join(problems), "Correct or remove it.")
    detail = f"{len(tables)} tables of yours in {settings}/apis"
    return DoctorCheck("APIs", "ok", detail if tables else "the built-in list")


def processes() -> DoctorCheck:
    """Report how commands that nobody supervises are counted and ended."""
    from sam_tui.adapters.terminal.sandbox.kernel.control_groups import probe

    if sys.platform == "linux" and (place := probe()):
        detail = f"in mode bypass a command is counted and ended by a control group in {place}"
        return DoctorCheck("processes", "ok", detail)
    if sys.platform == "linux":
        return DoctorCheck(
            "processes",
            "note",
            "no control group can be made here: in mode bypass the program counts and ends a command's "
            "processes",
            "Processes that multiply very fast can outrun it, and nothing limits those of root.",
        )
    return DoctorCheck(
        "processes",
        "note",
        "in mode bypass the program knows a command's processes by their session here",
        "A process that begins another session is not counted or ended.",
    )
