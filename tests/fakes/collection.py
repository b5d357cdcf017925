"""Tests that are collected once for all workers, in the process that these are forked from."""

from typing import Any

import pytest


class Collection:
    """The tests of one session, which a worker's session has as its own instead of collecting them again.

    Raises AttributeError where pytest keeps them in another way than its version of ``constraints.txt``.
    """

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._skipped: list[pytest.CollectReport] = []
        self._failed = False

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what each worker reports again, or has to collect itself."""
        self._failed = self._failed or report.failed
        if report.skipped:
            self._skipped.append(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take all tests, so that none is moved or left out before a worker's options say so."""
        self._items = items[:]
        items.clear()

    def share(self) -> None:
        """From now on a session of this process takes these tests; after a mistake it collects its own."""
        if self._items and not self._failed:

            def perform_collect(session: Any) -> list[Any]:
                return self._take(session)

            setattr(pytest.Session, perform_collect.__name__, perform_collect)

    def _take(self, session: Any) -> list[Any]:
        first, hook = self._items[0].session, session.config.hook
        self._move_fixtures(first, session)
        for item in self._items:
            node = item
            while node.session is not session:
                node.session, node.config = session, session.config
                if node.parent is first:
                    node.parent = session
                node = node.parent
        for report in self._skipped:
            hook.pytest_collectreport(report=report)
        session.items = self._items
        hook.pytest_collection_modifyitems(
            session=session, config=session.config, items=session.items
        )
        hook.pytest_collection_finish(session=session)
        session.testscollected = len(session.items)
        return session.items

    def _move_fixtures(self, first: Any, session: Any) -> None:
        """Let a session have the fixtures that its tests name, and the ``conftest.py`` of each folder."""
        config, plugins, fixtures = (
            session.config,
            session.config.pluginmanager,
            first._fixturemanager,
        )
        fixtures.session, fixtures.config, session._fixturemanager = session, config, fixtures
        plugins.unregister(name="funcmanage")
        plugins.register(fixtures, "funcmanage")
        for folder in first.config.pluginmanager._dirpath2confmods:
            plugins._loadconftestmodules(
                folder,
                config.getoption("importmode"),
                config.rootpath,
                consider_namespace_packages=config.getini("consider_namespace_packages"),
            )
