"""httpx, imported late and light: for the models and for the web, which do not know each other."""

import importlib
import sys
import threading
from types import ModuleType

_loading = threading.Lock()


def load() -> ModuleType:
    """The httpx package without its command line and without HTTP/2, which we do not speak.

    The one imports rich and click, the other h2 and hpack: together 35 of 60 ms.

    Safe from any thread.
    """
    with _loading:
        module = sys.modules.get("httpx")
        if module is not None:
            return module
        blocked = [name for name in ("httpx._main", "h2") if name not in sys.modules]
        for name in blocked:
            # httpx and httpcore catch the ImportError here and go without.
            sys.modules[name] = None  # pyright: ignore[reportArgumentType]  # documented
        try:
            import httpx

            importlib.import_module("httpcore")  # else httpx does with its first client
        finally:
            for name in blocked:
                del sys.modules[name]
        return httpx
