"""Memory of a process that is forked often: its pages, and the command line that others see."""

import ctypes
import pathlib

_HUGE_PAGE = 2 << 20
_COLLAPSE = 25
"""``MADV_COLLAPSE`` of Linux 6.1."""


def collapse() -> None:
    """Have what was imported lie in huge pages, if possible: a fork copies an entry for each page."""
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        places = [line.split() for line in maps]
    for addresses, rights, *rest in places:
        if rights == "rw-p" and rest[3:] in ([], ["[heap]"]):
            first, end = (int(address, 16) for address in addresses.split("-"))
            for page in range(-(-first // _HUGE_PAGE), end // _HUGE_PAGE):
                advise(page * _HUGE_PAGE, _HUGE_PAGE, _COLLAPSE)


def show(words: list[str]) -> None:
    """Have these words be the command line that others see, as far as there is room."""
    fields = pathlib.Path("/proc/self/stat").read_text("utf-8").rpartition(")")[2].split()
    first, end = (int(field) for field in fields[45:47])  # arg_start and arg_end of proc(5)
    ctypes.memmove(
        first, "\0".join(words).encode()[: end - first].ljust(end - first, b"\0"), end - first
    )
