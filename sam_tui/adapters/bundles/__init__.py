"""Bundles: their content from a folder or a commit, and those that the person trusts."""

from sam_tui.adapters.bundles.content import BundleContent
from sam_tui.adapters.bundles.store import BundleStore

__all__ = ["BundleContent", "BundleStore"]
