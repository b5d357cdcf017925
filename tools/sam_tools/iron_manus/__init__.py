"""Iron Manus (seeds 000 and 001): JARVIS and its companions, for the profile ``iron-manus``."""

from sam_tools.iron_manus.suite import build_iron_manus

__all__ = ["build_iron_manus"]
