"""The explicit list of built-in tools, in the order in which the model gets them (seed 004).

A tool's module is imported when a call first names the tool.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sam_tui.core.services import Services
from sam_tui.core.tooling.contract import Operation, Tool
from sam_tui.core.tooling.offer import Advert, Offer

Make = Callable[[Services], Tool]


def offers(services: Services, adverts: Mapping[str, Advert]) -> list[Offer]:
    """Return an offer of every built-in tool.

    Tools that depend on the configuration, and tools without an advert, are made at once.
    """
    listed = [_offer(name, make, services, adverts) for name, make in MAKERS.items()]
    if services.has_skills:
        listed.append(Offer.of(_read_skill(services)))
    online = services.online if services.online_extras else None
    if online and online.serpapi:
        listed[list(MAKERS).index("web_operations")] = Offer.of(_web_operations(services))
    if online and online.images:
        listed.insert(_SEEDS, Offer.of(_image_generation(services)))
    return [*listed, *worker_offers(services, adverts)]


def worker_offers(services: Services, adverts: Mapping[str, Advert]) -> list[Offer]:
    """The tools of plans, which are called by name alone."""
    return [_offer(name, make, services, adverts) for name, make in WORKERS.items()]


def profile_offers(profile: str, services: Services) -> list[Offer]:
    """The tools that a profile adds to the built-in ones, ready to use; most profiles add none."""
    if profile not in (*PROFILES, "all"):
        return []
    from sam_tools.iron_manus import build_iron_manus

    return [Offer.of(tool) for tool in build_iron_manus(services)]


def profile_of(name: str) -> str:
    """The profile whose tool a call names, or nothing."""
    head = name.partition(".")[0]
    return next((profile for profile, names in PROFILES.items() if head in names), "")


def _offer(name: str, make: Make, services: Services, adverts: Mapping[str, Advert]) -> Offer:
    advert = adverts.get(name)
    return Offer.of(make(services)) if advert is None else Offer(advert, lambda: make(services))


def _think(_: Services) -> Tool:
    from sam_tools.turn_control import Think

    return Think().tool()


def _user_collaboration(services: Services) -> Tool:
    from sam_tools.turn_control import UserCollaboration

    return UserCollaboration(services.inquiries).tool()


def _run_subagent(services: Services) -> Tool:
    from sam_tools.run_subagent import SubagentTool

    return SubagentTool(services.subagents, lambda: services.definitions("agents")).tool()


def _increase_max_iterations(services: Services) -> Tool:
    from sam_tools.turn_control import IncreaseMaxIterations

    return IncreaseMaxIterations(services.budgets.get).tool()


def _list_system_prompts(services: Services) -> Tool:
    from sam_tools.prompts import ListSystemPrompts

    return ListSystemPrompts(services.prompts).tool()


def _list_mini_prompts(services: Services) -> Tool:
    from sam_tools.prompts import ListMiniPrompts

    return ListMiniPrompts(services.prompts).tool()


def _memory_operations(services: Services) -> Tool:
    from sam_tools.memory_operations import MemoryOperations

    memory = services.remembered
    return MemoryOperations(memory.memories, memory.notes, memory.knowledge, services.clock).tool()


def _todo_operations(services: Services) -> Tool:
    from sam_tools.todo_operations import TodoOperations

    return TodoOperations(services.todos).tool()


def _read_tool_result(services: Services) -> Tool:
    from sam_tools.history import ReadToolResult

    return ReadToolResult(services.results).tool()


def _recall_history(services: Services) -> Tool:
    from sam_tools.history import RecallHistory

    return RecallHistory(services.remembered.archive, services.remembered.memories).tool()


def _web_operations(services: Services) -> Tool:
    from sam_tools.web_operations import WebOperations

    online = services.online
    return WebOperations(
        online.web,
        online.search,
        services.documents,
        services.remembered.memories,
        serpapi=online.serpapi,
    ).tool()


def _document_operations(services: Services) -> Tool:
    from sam_tools.document_operations import DocumentOperations

    return DocumentOperations(
        services.documents,
        services.files,
        services.online.web,
        services.remembered.memories,
        services.remembered.documents,
        clock=services.clock,
    ).tool()


def _file_operations(services: Services) -> Tool:
    from sam_tools.file_operations import FileOperations

    return FileOperations(
        services.files,
        services.search,
        journal=services.journal,
        insight=services.insight,
        commands=lambda: services.commands,
    ).tool()


def _terminal_operations(services: Services) -> Tool:
    from sam_tools.terminal_operations import TerminalOperations, TerminalParts

    parts = TerminalParts(
        services.commands,
        services.terminals,
        services.publish,
        services.files,
        services.background,
        services.rehearsals,
        services.inquiries,
    )
    return TerminalOperations(parts).tool()


def _build_and_version_control(services: Services) -> Tool:
    from sam_tools.build_and_version_control import BuildAndVersionControl

    return BuildAndVersionControl(
        services.commands,
        services.tasks,
        book=services.task_book,
        files=services.files,
        workspace=services.workspace,
    ).tool()


def _image_generation(services: Services) -> Tool:
    from sam_tools.image_generation import ImageGeneration

    assert services.online.images is not None
    return ImageGeneration(services.online.images, services.files).tool()


def _workflow(services: Services) -> Tool:
    from sam_tools.workflow import WorkflowTool

    lazy = services.workflows
    return WorkflowTool(lazy.workflows, services.inquiries, lazy.flush).tool()


def _read_skill(services: Services) -> Tool:
    from sam_tools.prompts import ReadSkill

    return ReadSkill(services.skills).tool()


def _calculator(_: Services) -> Tool:
    from sam_tools.workers import calculator

    return calculator()


def _research_work(name: str) -> Make:
    def make(services: Services) -> Tool:
        from sam_tools.workers import ResearchWork

        web = _operations(_web_operations(services))
        work = ResearchWork(web["web_search"], web["fetch"], services.online.web)
        return next(tool for tool in work.tools() if tool.name == name)

    return make


def _task_files(name: str) -> Make:
    def make(services: Services) -> Tool:
        from sam_tools.workers import FileActions, TaskFiles

        files = _operations(_file_operations(services))
        documents = _operations(_document_operations(services))
        actions = FileActions(files["create_file"], documents["document_create"], services.files)
        work = TaskFiles(actions, services.online.web)
        return next(tool for tool in work.tools() if tool.name == name)

    return make


def _operations(tool: Tool) -> Mapping[str, Operation[Any]]:
    return {operation.name: operation for operation in tool.operations}


WORKERS: Mapping[str, Make] = {
    "CalculatorTool": _calculator,
    "WebSearchTool": _research_work("WebSearchTool"),
    "ReadWebpageTool": _research_work("ReadWebpageTool"),
    "ExploreSearchResults": _research_work("ExploreSearchResults"),
    "FileSystemTool": _task_files("FileSystemTool"),
    "FileDownloaderTool": _task_files("FileDownloaderTool"),
}
"""Tools that steps of plans call by name (seed 002); the model's own list does not have them."""

MAKERS: Mapping[str, Make] = {
    "think": _think,
    "user_collaboration": _user_collaboration,
    "run_subagent": _run_subagent,
    "increase_max_iterations": _increase_max_iterations,
    "list_system_prompts": _list_system_prompts,
    "list_mini_prompts": _list_mini_prompts,
    "memory_operations": _memory_operations,
    "todo_operations": _todo_operations,
    "read_tool_result": _read_tool_result,
    "recall_history": _recall_history,
    "web_operations": _web_operations,
    "document_operations": _document_operations,
    "file_operations": _file_operations,
    "terminal_operations": _terminal_operations,
    "build_and_version_control": _build_and_version_control,
    "workflow": _workflow,
}
"""The functions that make the tools, in the seed's order; others depend on the configuration."""
PROFILES: Mapping[str, tuple[str, ...]] = {
    "iron-manus": (
        "JARVIS", "APISearch", "APIValidator", "MultiAPIFetch", "KnowledgeSynthesize",
        "APITaskAgent", "PythonComputationalTool", "IronManusStateGraph", "HealthCheck",
    ),
}  # fmt: skip
"""Tools that are offered only with a profile, so that the model's usual list does not grow."""
_SEEDS = len(MAKERS) - 1
"""How many of the tools the seed lists before ``image_generation``, its last one."""
