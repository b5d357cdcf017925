"""The boundary of the program: every exception becomes a sentence and an exit code."""

import os
import sys
import traceback
from collections.abc import Sequence

import click

from sam_tui.cli.log import data_dir_of, note_defect, say, without_secrets
from sam_tui.cli.program import program
from sam_tui.cli.streams import secure_streams
from sam_tui.core.errors import SamError
from sam_tui.headless.interrupts import Interrupted
from sam_tui.headless.outcome import EXIT_CODES
from sam_tui.headless.output import silence, terminal_safe


def main(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name and return its exit code. Raises nothing."""
    secure_streams()
    # Files without the rights of their owner could not be used again.
    os.umask(os.umask(0o077) & 0o077)
    output = sys.stdout
    try:
        code = program.main(list(arguments), prog_name="sam-tui", standalone_mode=False)
        _flush()
        return int(code or 0)
    except SamError as error:
        return _explain(error)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        if isinstance(error, click.NoSuchOption) and error.possibilities:
            del error.possibilities[1:]  # click lists even distant ones, by name
        error.show(sys.stderr)
        return error.exit_code
    except Interrupted as interrupted:
        return EXIT_CODES[interrupted.subtype]
    except (KeyboardInterrupt, click.Abort):
        return EXIT_CODES["cancelled"]
    except SystemExit:
        if sys.stdout is output:
            raise
        return unwritten(BrokenPipeError())  # click's own answer to a reader that left
    except Exception as fault:  # noqa: BLE001 - the last boundary there is
        if isinstance(fault, OSError) and _in_output(fault):
            return unwritten(fault)
        return _confess(fault, arguments)


def unwritten(error: OSError) -> int:
    """The end of a command whose standard output takes no more: quiet where the reader has had enough."""
    silence(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return 0
    say(f"Standard output could not be written: {error.strerror}.")
    return EXIT_CODES["error_during_execution"]


def _in_output(fault: OSError) -> bool:
    """Whether writing to standard output failed, and not a function below."""
    if isinstance(fault, BrokenPipeError):
        return True
    *_, (frame, _) = traceback.walk_tb(fault.__traceback__)
    return frame.f_code in (click.echo.__code__, _flush.__code__)


def _flush() -> None:
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout.flush()


def _explain(error: SamError) -> int:
    """Print an error: title, cause and advice. Returns its exit code."""
    text = f"{error.title}: {error}"
    if error.hint:
        text += "\n  " + error.hint.replace("\n", "\n  ")
    say(terminal_safe(text))
    return error.exit_code


def _confess(fault: Exception, arguments: Sequence[str]) -> int:
    """Report any other exception, a defect of this program: a short text, and the details in a file."""
    where = note_defect(fault, data_dir_of(arguments, os.environ))
    if os.environ.get("SAM_TUI_DEBUG") == "1":
        say(terminal_safe(without_secrets("".join(traceback.format_exception(fault)))))
    say(terminal_safe(without_secrets(f"A defect in sam-tui: {type(fault).__name__}: {fault}")))
    say(f"  The details are in {where}" if where else "  Set SAM_TUI_DEBUG=1 to see the details.")
    return EXIT_CODES["error_internal"]
