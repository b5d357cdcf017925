"""The recordings of a data directory: paths for new ones, the list, playback, and redacted copies."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence

from sam_tui.adapters.terminal.recordings.asciicast import Recording, export
from sam_tui.core.errors import ToolError
from sam_tui.core.ports.processes.recordings import FollowedOutput, KeptRecording, Playback
from sam_tui.core.redaction.shield import Shield

_SUFFIX = ".cast"
_LAST_SECOND = 253_402_000_000.0
"""A moment of the year 9999, the last that Python's calendar has: some file systems hold later dates."""


class CastRecordings:
    """The ``Recordings`` port: files ``*.cast`` in ``folder``, and any other by its path.

    ``shield`` makes the function that masks secrets in a copy.
    """

    def __init__(self, folder: str, shield: Callable[[], Shield]) -> None:
        self._folder = folder
        self._shield = shield
        self._playing: list[Playback] = []

    def fresh(self) -> str:
        """A path for the next recording, in an existing folder. Raises ``ToolError``."""
        try:
            # The output may contain anybody's secrets: only the owner may enter the folder.
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
        except OSError as error:
            raise ToolError(f"{self._folder} cannot be made: {error.strerror}") from error
        stem = time.strftime("terminal-%Y%m%d-%H%M%S")
        names = (f"{stem}{again}{_SUFFIX}" for again in ("", *(f"-{n}" for n in range(2, 1000))))
        paths = (os.path.join(self._folder, name) for name in names)
        return next(path for path in paths if not os.path.lexists(path))

    def recordings(self, *others: str) -> Sequence[KeptRecording]:
        """The recordings of the data folder and of the folders ``others``, newest first."""
        recordings: dict[str, KeptRecording] = {}
        for folder in (self._folder, *others):
            for recording in _in(folder):
                recordings.setdefault(os.path.realpath(recording.path), recording)
        return sorted(recordings.values(), key=lambda recording: recording.at, reverse=True)

    def open(self, path: str) -> Playback:
        """A player for a recording, at its beginning. Raises ``ToolError`` for a file that is no
        recording."""
        # The emulator takes a tenth of a second to load.
        from sam_tui.adapters.terminal.recordings.playback import CastPlayback

        playback = CastPlayback(path)
        self._playing.append(playback)
        return playback

    def follow(self) -> FollowedOutput:
        """Return a screen for a command's output from now on."""
        from sam_tui.adapters.terminal.recordings.playback import CommandOutput

        return CommandOutput()

    async def export(self, path: str, copy: str) -> int:
        """Write a copy with secrets masked; returns how many there were. Raises ``ToolError``."""
        return await asyncio.to_thread(self._export, path, copy, self._shield())

    def _export(self, path: str, copy: str, shield: Shield) -> int:
        masked = 0

        def mask(text: str) -> str:
            nonlocal masked
            masked_text = shield.mask(text)
            masked += masked_text.count
            return masked_text.text

        export(Recording(path), copy, mask)
        return masked

    def close(self) -> None:
        """Close every player."""
        for playback in self._playing:
            playback.close()
        self._playing.clear()


def _in(folder: str) -> Sequence[KeptRecording]:
    recordings: list[KeptRecording] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIX) and entry.is_file():
                    status = entry.stat()
                    at = max(0.0, min(status.st_mtime, _LAST_SECOND))
                    recordings.append(KeptRecording(entry.path, entry.name, status.st_size, at))
    except OSError:
        return recordings  # there is no such folder, or it may not be read
    return recordings
