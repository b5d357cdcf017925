"""An agent's shell on a pseudo-terminal of this program, below a parent that adopts its orphans."""

import os
import termios

from sam_tui.adapters.terminal.person_input.session_holder import Hold
from sam_tui.adapters.terminal.processes.parented import PATIENCE, Parent, ParentedProgram
from sam_tui.adapters.terminal.pty.pty import PtyLaunch, require_folder
from sam_tui.adapters.terminal.sandbox.kernel.control_groups import ControlGroup
from sam_tui.core.errors import ToolError


class ParentedShell:
    """The ``Process`` of a ``Pty``: it ends with all its descendants, also when this program is killed."""

    def __init__(self, launch: PtyLaunch, parent: Parent) -> None:
        """Start it; raises ``ToolError`` when the folder or the program is missing."""
        require_folder(launch.cwd)
        self.group = ControlGroup.create(launch.processes) if launch.processes else None
        """The control group that counts its processes."""
        try:
            self.fd, terminal = os.openpty()
        except OSError as error:
            self._end_group()
            raise _failure(error) from error
        self.resize(launch.columns, launch.rows)
        group = "" if self.group is None else self.group.path
        program = ParentedProgram(
            launch.argv,
            launch.argv[0],
            launch.cwd,
            launch.environment,
            terminal=True,
            group=group,
        )
        try:
            self._process = parent.become(program, (terminal, terminal, terminal), launch.ruleset)
        except OSError as error:
            os.close(self.fd)
            self._end_group()
            parent.control.close()
            raise _failure(error) from error
        finally:
            os.close(terminal)
        self.pid = self._process.pid

    def on_output(self, data: bytes) -> None:
        """Do nothing: nobody else has to know."""

    def hold(self, hold: Hold) -> None:
        """Do nothing: nobody else has to know."""

    def resize(self, columns: int, rows: int) -> None:
        """Set the size of the terminal."""
        termios.tcsetwinsize(self.fd, (rows, columns))

    def reap(self) -> int | None:
        """End everything below its parent; return its exit code, or None if it is unknown."""
        code = self._process.poll(PATIENCE)  # this is asked once: a busy machine may take long
        os.close(self.fd)
        self._end_group()
        self._process.release()
        return code if code is None or code >= 0 else 128 - code

    def _end_group(self) -> None:
        if self.group is not None:
            self.group.end()
            self.group.remove()


def _failure(error: OSError) -> ToolError:
    return ToolError(f"The shell could not be started: {error.strerror or error}")
