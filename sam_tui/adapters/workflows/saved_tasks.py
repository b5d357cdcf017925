"""The files of saved tasks: below one folder, each written whole."""

from pathlib import Path

from sam_tui.core.local_files.private_files import replace_file


class SavedTasks:
    """A folder of saved tasks. The files are copies of rows in the store, so they are not flushed."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def save(self, path: str, text: str) -> None:
        """Write a file below the folder, mode 0600. Raises ``OSError``."""
        target = self._folder / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(str(target), text, errors="surrogatepass", flushed=False)
