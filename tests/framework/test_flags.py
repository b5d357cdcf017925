"""The flags by which the assembled program treats some operations otherwise than the others."""

from collections.abc import Iterator

import pytest

from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.contract import Tool, operation_key
from tests.framework.conftest import PROVIDERS, looked_at

DRAFTED = {
    "file_operations.create_file",
    "file_operations.replace_string",
    "file_operations.insert_edit",
}
OPERATIONS = {
    "sends": {"document_operations.get_doc_info", "document_operations.document_import"},
    "lasting": {"terminal_operations.create_session"},
    "rehearsable": {"terminal_operations.run_command"},
    "draft": DRAFTED,
    "amend": DRAFTED,
    "preview": {
        *DRAFTED,
        "file_operations.apply_patch",
        "file_operations.delete_file",
        "file_operations.multi_replace_string",
        "file_operations.rename_file",
        "FileSystemTool",
        "PythonComputationalTool",
    },
    "anywhere": {"CalculatorTool", "KnowledgeSynthesize"},
}
LOCAL = {
    "build_and_version_control",
    "document_operations",
    "file_operations",
    "terminal_operations",
}
UNLISTED = {
    "CalculatorTool",
    "ExploreSearchResults",
    "FileDownloaderTool",
    "FileSystemTool",
    "ReadWebpageTool",
    "WebSearchTool",
}


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """A runtime with the tools of providers, of profiles and of plans."""
    yield from looked_at(tmp_path_factory.mktemp("every"), profile="all", **PROVIDERS)


def tools_of(runtime: Runtime) -> list[Tool]:
    """All that a call can name."""
    names = {name.partition(".")[0] for name in runtime.registry.descriptions}
    return [runtime.registry.resolve(name).tool for name in names]


@pytest.mark.requirement("framework:assembled")
@pytest.mark.parametrize("flag", OPERATIONS)
def test_each_operation_has_the_flags_that_the_program_goes_by(every: Runtime, flag: str) -> None:
    flagged = {
        operation_key(tool, operation)
        for tool in tools_of(every)
        for operation in tool.operations
        if getattr(operation, flag)
    }
    assert flagged == OPERATIONS[flag]


@pytest.mark.requirement("framework:assembled")
def test_secrets_reach_local_tools_alone_and_tools_of_plans_are_not_listed(every: Runtime) -> None:
    tools = tools_of(every)
    assert {tool.name for tool in tools if tool.local} == LOCAL
    assert {tool.name for tool in tools if not tool.listed} == UNLISTED
