"""PythonComputationalTool: Python that is really run, in the sandbox, with its data as a file."""

import ast
import hashlib
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from sam_tools.iron_manus import program
from sam_tools.iron_manus.phases.folder import FOLDER, ScratchFiles, SessionFolders
from sam_tools.iron_manus.results import INLINE, OUTSIDE, answer
from sam_tui.core.accesses import Access, CommandAccess, Fetch, Location, Write
from sam_tui.core.display import Diff, Terminal
from sam_tui.core.errors import InvalidArguments, ToolError
from sam_tui.core.ports.documents import Documents
from sam_tui.core.ports.processes.terminals import CommandRequest, CommandResult, Commands
from sam_tui.core.ports.web import Web
from sam_tui.core.tooling.arguments import Arguments
from sam_tui.core.tooling.contract import Operation, Tool, ToolContext, ToolResult, single

SECONDS = 60.0
MEMORY = 2_097_152
"""The limit of address space, in KiB."""
_MOST_OUTPUT = 60_000
_LOOKS = frozenset({
    "os",
    "subprocess",
    "socket",
    "ctypes",
    "shutil",
    "importlib",
    "multiprocessing",
})
_SELECTORS = {"titles": "h1, h2, h3", "links": "a[href]@href"}


class Computation(Arguments):
    """Arguments of PythonComputationalTool."""

    operation: Literal[
        "web_scraping", "data_analysis", "visualization", "machine_learning", "custom"
    ]
    input_data: str = Field(default="", max_length=2_000_000, description="CSV or JSON; or a URL")
    parameters: dict[str, object] = Field(default_factory=dict[str, object])
    custom_code: str = Field(default="", max_length=100_000, description="for custom: Python")


class PythonTool:
    """The tool over the ports: commands are confined, and have no network."""

    def __init__(
        self, commands: Commands, folders: SessionFolders, web: Web, documents: Documents
    ) -> None:
        self._commands = commands
        self._folders = folders
        self._web = web
        self._documents = documents

    def tool(self) -> Tool:
        """The tool, ready to register."""
        operation = Operation(
            "PythonComputationalTool",
            "compute with Python",
            Computation,
            self._run,
            lambda a: f"Python: {a.operation}",
            _accesses,
            inline_limit=INLINE,
            preview=_preview,
        )
        return single(
            operation,
            "Run Python in a sandbox without network: data_analysis, visualization and"
            " machine_learning of CSV or JSON, web_scraping of a page, or custom code, which finds"
            " input_data as JSON on standard input.",
        )

    async def _run(self, arguments: Computation, context: ToolContext) -> ToolResult:
        if arguments.operation == "web_scraping":
            return await self._scrape(arguments)
        if arguments.operation == "custom":
            return await self._custom(arguments, context)
        result = await self._ran(arguments, context)
        try:
            output: Mapping[str, object] = json.loads(result.output)
        except ValueError:
            raise ToolError(f"The program did not end well: {_ending(result)}") from None
        if "error" in output:
            raise InvalidArguments(f"{arguments.operation}: {output['error']}.")
        data = {"operation": arguments.operation, **output}
        if "svg" in output:
            chart = self._folders.keep(f"chart_{_key(arguments)}.svg", str(output["svg"]))
            data = {**data, "file": chart.path, "sha256": chart.sha256}
            del data["svg"]
        return answer(data)

    async def _custom(self, arguments: Computation, context: ToolContext) -> ToolResult:
        notes = advice(arguments.custom_code)
        result = await self._ran(arguments, context)
        card = Terminal(_command(arguments), result.output, result.exit_code, result.seconds)
        data = {
            "operation": "custom",
            "exit_code": result.exit_code,
            "output": result.output[:_MOST_OUTPUT],
            "truncated": len(result.output) > _MOST_OUTPUT or result.dropped > 0,
            "timed_out": result.timed_out,
            "notes": notes,
        }
        return answer(data, card, ok=result.exit_code == 0)

    async def _ran(self, arguments: Computation, context: ToolContext) -> CommandResult:
        """Run the program on its data, which temporary files hold until it ends."""
        scratch = [ScratchFiles(_input(arguments), _data(arguments))]
        if arguments.operation == "custom":
            scratch.append(ScratchFiles(_code(arguments), arguments.custom_code))
        with self._folders.scratch(scratch):
            return await self._commands.run(
                CommandRequest(
                    command=_command(arguments),
                    cwd=context.workspace,
                    confined=context.permit.confined,
                    writable=context.permit.writable,
                    timeout=SECONDS,
                    on_output=context.emit if arguments.operation == "custom" else _nobody,
                    network="off",
                )
            )

    async def _scrape(self, arguments: Computation) -> ToolResult:
        url = arguments.input_data.strip()
        selector = arguments.parameters.get("selector")
        selectors = {"selected": selector} if isinstance(selector, str) and selector else _SELECTORS
        page = (await self._web.fetch(url)).accepted()
        kind = page.headers.get("content-type", "")
        selected = await self._documents.select(page.body, selectors, media_type=kind, url=page.url)
        data: dict[str, object] = {
            "note": OUTSIDE,
            "operation": "web_scraping",
            "url": page.url,
            "found": {name: list(values)[:500] for name, values in selected.items()},
        }
        if arguments.parameters.get("output_format") == "csv":
            rows = [f"{name},{json.dumps(v)}" for name, values in selected.items() for v in values]
            data["csv"] = "\n".join(["name,value", *rows[:500]])
        return answer(data)


def advice(code: str) -> list[str]:
    """The imports of the code that reach outside. Advice alone: the sandbox confines the code.

    Raises ``InvalidArguments`` for code that is no Python.
    """
    if not code.strip():
        raise InvalidArguments("custom: custom_code is empty.")
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InvalidArguments(f"custom_code is no Python: {error}.") from None
    names = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
        )
    }
    return [f"imports {name}: it runs without network and writes the workspace only"
            for name in sorted(names & _LOOKS)]  # fmt: skip


def _accesses(arguments: Computation) -> Sequence[Access]:
    if arguments.operation == "web_scraping":
        return (Fetch(arguments.input_data.strip(), "input_data"),)
    return (Write(FOLDER, "session_workspace"), CommandAccess(_command(arguments)))


def _preview(arguments: Computation, _: Mapping[str, Location]) -> Sequence[Diff]:
    """The code that an approval is asked for."""
    if arguments.operation != "custom":
        return ()
    lines = arguments.custom_code.splitlines()
    patch = "\n".join([f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)])
    return (Diff(_code(arguments), patch, len(lines), 0),)


def _command(arguments: Computation) -> str:
    """The whole command: limits, an isolated interpreter, the program, its data."""
    custom = arguments.operation == "custom"
    file = f"{FOLDER}/{_code(arguments)}" if custom else program.__file__
    parts = [shlex.quote(sys.executable), "-I", shlex.quote(file)]
    limits = f"ulimit -t {SECONDS:.0f}; ulimit -v {MEMORY} 2>/dev/null"
    return f"{limits}; {' '.join(parts)} < {FOLDER}/{_input(arguments)}"


def _key(arguments: Computation) -> str:
    whole = json.dumps(arguments.model_dump(mode="json"), sort_keys=True)
    return hashlib.sha256(whole.encode("utf-8", "replace")).hexdigest()[:16]


def _input(arguments: Computation) -> str:
    return f"input_{_key(arguments)}.json"


def _code(arguments: Computation) -> str:
    return f"code_{_key(arguments)}.py"


def _data(arguments: Computation) -> str:
    return json.dumps({
        "operation": arguments.operation,
        "data": arguments.input_data,
        "parameters": arguments.parameters,
    })  # fmt: skip


def _ending(result: CommandResult) -> str:
    if result.timed_out:
        return f"it took longer than {SECONDS:.0f} s."
    code = f"exit code {result.exit_code}" if result.exit_code is not None else result.signal
    return f"{code}. {result.output[-1000:]}"


def _nobody(_: str) -> None:
    """Ignores output while it comes; the result is read at the end."""
