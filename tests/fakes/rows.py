"""One test over a table: every row is tried, and the failure names all that do not hold.

A row that is a test of its own costs each process of a run some milliseconds before any test begins, and
as many again when it is run: more than most rows of a table take.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager

import pytest

Row = Callable[[str], AbstractContextManager[None]]


@contextmanager
def every_row() -> Generator[Row]:
    """A block for a whole table; what it gives is a block for the row of a name."""
    failed: list[str] = []

    @contextmanager
    def row(name: str) -> Generator[None]:
        try:
            yield
        except (AssertionError, pytest.fail.Exception) as error:
            failed.append(f"{name!r}: {error}")
        except Exception as error:
            error.add_note(f"in the row {name!r}")
            raise

    yield row
    assert not failed, f"{len(failed)} rows do not hold:\n" + "\n".join(failed)
