"""httpx, imported late and without its command line (which would import rich and click)."""

import sys
import threading
from types import ModuleType

_loading = threading.Lock()


def load() -> ModuleType:
    """The httpx package; safe from any thread."""
    with _loading:
        module = sys.modules.get("httpx")
        if module is not None:
            return module
        blocked = "httpx._main" not in sys.modules
        if blocked:
            # httpx catches ImportError here and goes without its command line.
            sys.modules["httpx._main"] = None  # pyright: ignore[reportArgumentType]  # documented
        try:
            import httpx
        finally:
            if blocked:
                del sys.modules["httpx._main"]
        return httpx
