"""The files of saved tasks: below one folder, each written whole."""

import os
import tempfile
from pathlib import Path


class SavedTasks:
    """A folder of saved tasks. What is written is a copy of what the store has: it is not flushed."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def save(self, path: str, text: str) -> None:
        """Write a file below the folder, mode 0600. Raises ``OSError``."""
        target = self._folder / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".sam-tui-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
                file.write(text)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
