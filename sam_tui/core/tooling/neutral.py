"""Text from tools and models, made unable to pass for the host's own words."""

import re

_HOST_TAG = re.compile(r"<(\s*/?\s*system-reminder)", re.IGNORECASE)
_ECHO = re.compile(r"<\s*system-reminder\s*>.*?<\s*/\s*system-reminder\s*>\s*", re.I | re.S)
_STRAY = re.compile(r"<\s*/?\s*system-reminder\s*>", re.IGNORECASE)


def neutralise(text: str) -> str:
    """Text with look-alikes of the reminder tag broken: ``<system-reminder>`` -> ``<\\system-…``."""
    return _HOST_TAG.sub(r"<\\\1", text) if "<" in text else text


def scrub_echoes(text: str) -> str:
    """A model's answer without reminders it repeated: whole ones, then stray tags."""
    if "system-reminder" not in text.lower():
        return text
    return _STRAY.sub("", _ECHO.sub("", text))
