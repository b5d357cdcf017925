"""The flags by which the assembled program treats some operations otherwise than the others."""

import pytest

from sam_tui.core.runtime import Runtime
from sam_tui.core.tooling.contract import operation_key

OPERATIONS = {
    "sends": {"document_operations.get_doc_info", "document_operations.document_import"},
    "lasting": {"terminal_operations.create_session"},
    "rehearsable": {"terminal_operations.run_command"},
    "amend": {
        "file_operations.create_file",
        "file_operations.replace_string",
        "file_operations.insert_edit",
    },
    "anywhere": set[str](),
}


@pytest.mark.requirement("framework:assembled")
@pytest.mark.parametrize("flag", OPERATIONS)
def test_each_operation_has_the_flags_that_the_program_goes_by(full: Runtime, flag: str) -> None:
    flagged = {
        operation_key(tool, operation)
        for tool in full.registry.tools
        for operation in tool.operations
        if getattr(operation, flag)
    }
    assert flagged == OPERATIONS[flag]
