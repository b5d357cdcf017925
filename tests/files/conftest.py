"""A workspace on disk, and the operations run on it as the core would."""

import importlib
import os
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sam_tools.file_operations import FileOperations
from sam_tui.adapters.files import LocalFiles
from sam_tui.adapters.search import RipgrepSearch
from sam_tui.adapters.terminal.sandbox.kernel.calls import call
from sam_tui.core.accesses import Location, Read, Write
from sam_tui.core.authorization.paths.containment import Workspace
from sam_tui.core.display import Diff
from sam_tui.core.ids import CallId, ConversationId
from sam_tui.core.tooling.contract import Operation, Permit, ToolContext, ToolResult


@dataclass
class Bench:
    """Runs operations of the tool: parse, locate, run, without the guard."""

    workspace: Workspace

    def __post_init__(self) -> None:
        self.tool = FileOperations(LocalFiles(), RipgrepSearch()).tool()

    @property
    def root(self) -> Path:
        return Path(self.workspace.root)

    def operation(self, name: str) -> Operation[Any]:
        return next(o for o in self.tool.operations if o.name == name)

    def locations(self, name: str, arguments: Any) -> dict[str, Location]:
        located: dict[str, Location] = {}
        for access in self.operation(name).accesses(arguments):
            assert isinstance(access, Read | Write)
            follow = access.follow if isinstance(access, Write) else True
            located[access.parameter] = self.workspace.locate(access.path, follow=follow)
        return located

    def parse(self, name: str, given: Mapping[str, Any]) -> Any:
        return self.operation(name).arguments.model_validate(given)

    async def __call__(self, name: str, /, **given: Any) -> ToolResult:
        arguments = self.parse(name, given)
        permit = Permit(self.locations(name, arguments))
        context = ToolContext(
            ConversationId("c"), CallId("k"), self.workspace.root, permit, lambda _: None
        )
        return await self.operation(name).run(arguments, context)

    def preview(self, name: str, /, **given: Any) -> tuple[Diff, ...]:
        operation, arguments = self.operation(name), self.parse(name, given)
        assert operation.preview is not None
        return tuple(operation.preview(arguments, self.locations(name, arguments)))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "ws"
    folder.mkdir()
    return Bench(Workspace.open(str(folder)))


@pytest.fixture
def marked(bench: Bench) -> Bench:
    """The workspace of spec 10.2: seven files with a TESTMARKER each."""
    texts = {
        "root_files/README.md": "# Readme\nTESTMARKER_README\n",
        "root_files/sample.txt": "first\nTESTMARKER_SAMPLE\nthird\nfourth\n",
        "root_files/data.json": '{"k": "TESTMARKER_JSON"}\n',
        "subdir1/script.py": "def hello_world(): ...\ndef calculate_sum(): ...\n# TESTMARKER_PYTHON\n",
        "subdir1/config.ini": "[a]\nb = TESTMARKER_CONFIG\n",
        "subdir2/nested/deep.txt": "TESTMARKER_NESTED\n",
        "data/test.csv": "a,b\n1,TESTMARKER_CSV\n",
    }
    for path, text in texts.items():
        (bench.root / path).parent.mkdir(parents=True, exist_ok=True)
        (bench.root / path).write_text(text, encoding="utf-8")
    (bench.root / "empty").mkdir()
    return bench


@pytest.fixture
def files() -> LocalFiles:
    return LocalFiles()


@pytest.fixture
def search() -> RipgrepSearch:
    return RipgrepSearch()


@contextmanager
def _ordinary() -> Generator[None, None, None]:
    """Root may do everything; whoever runs the tests as root becomes nobody for a while.

    This thread does, and those it starts meanwhile. ``os.seteuid`` asks every thread to, and aborts where
    one of them may not: those that run for a confined command are forbidden it.
    """
    if os.geteuid() != 0:
        yield
        return
    importlib.import_module("concurrent.futures.thread")  # nobody may not read it in root's folders
    call("setresuid", -1, 65534, -1)
    try:
        yield
    finally:
        call("setresuid", -1, 0, -1)


@pytest.fixture
def ordinary():
    """A context in which the process has no special rights."""
    return _ordinary


@pytest.fixture
def public() -> Iterator[Bench]:
    """A workspace that an ordinary person can enter, wherever the tests run."""
    with tempfile.TemporaryDirectory(prefix="sam-") as folder:
        os.chmod(folder, 0o755)
        (Path(folder) / "ws").mkdir(mode=0o777)
        os.chmod(Path(folder) / "ws", 0o777)
        yield Bench(Workspace.open(str(Path(folder) / "ws")))
