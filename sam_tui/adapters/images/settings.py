"""The server that makes images, chosen by the environment.

| Variable              | Meaning                                                                     |
|-----------------------|-----------------------------------------------------------------------------|
| `SAM_TUI_IMAGE_BASE`  | address up to `/v1`; without it OpenAI's, if a model is named               |
| `SAM_TUI_IMAGE_MODEL` | the model; without it the server's own, or `gpt-image-1` at OpenAI          |
| `SAM_TUI_IMAGE_KEY`   | the key; at OpenAI `OPENAI_API_KEY` will do                                 |

With neither base nor model there is no image generation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sam_tui.core.errors import ConfigurationError
from sam_tui.settings.values import is_address

BASE = "SAM_TUI_IMAGE_BASE"
MODEL = "SAM_TUI_IMAGE_MODEL"
KEY = "SAM_TUI_IMAGE_KEY"
OPENAI = "https://api.openai.com/v1"
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """One configured endpoint. ``base`` is without a slash at its end; ``model`` may be empty."""

    base: str
    model: str = ""
    key: str = field(default="", repr=False)

    @property
    def origin(self) -> str:
        """``host:port`` of the endpoint, which its URL guard must allow."""
        parts = urlsplit(self.base)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{host}:{parts.port or _PORTS[parts.scheme]}"


def image_settings(environ: Mapping[str, str]) -> ImageSettings | None:
    """The image endpoint of the environment; None if no variable names one.

    Raises ``ConfigurationError`` for a base that is no http or https address.
    """
    base = environ.get(BASE, "").strip().rstrip("/")
    model = environ.get(MODEL, "").strip()
    if not base and not model:
        return None
    base = base or OPENAI
    if not is_address(base):
        raise ConfigurationError(
            f"{BASE} is not an address.", hint="Such as http://127.0.0.1:8080/v1."
        )
    official = base == OPENAI
    key = environ.get(KEY, "").strip() or (environ.get("OPENAI_API_KEY", "") if official else "")
    return ImageSettings(base, model or ("gpt-image-1" if official else ""), key.strip())
