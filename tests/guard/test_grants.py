"""What a grant covers, whom it names, how long it holds, and what other programs hear of it."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest

from sam_tui.adapters.shell import BashParser
from sam_tui.core.authorization.commands.reader import CommandReader
from sam_tui.core.authorization.grants.grants import (
    FOREVER,
    Grant,
    Grants,
    lies_in,
    patterns_cover,
    wide_as_it_is,
)
from sam_tui.core.authorization.network.hosts import HostEntry
from sam_tui.core.authorization.rules.patterns import CommandPattern
from sam_tui.core.ids import ConversationId
from sam_tui.core.ports.policy import LiveGrant
from tests.guard.ward import ALICE, CREATE, RUN, Hand

READER = CommandReader(BashParser(), root="/ws", home="/h")
BOB = ConversationId("bob")


@pytest.mark.requirement("guard:grants-properties")
@pytest.mark.parametrize(
    ("granted", "covered", "others"),
    [
        ("/a/b", ["/a/b"], ["/a/b/c", "/a", "/a/bc", "a/b"]),
        ("/a/b/", ["/a/b", "/a/b/", "/a/b/c"], ["/a", "/a/bc", "/x/a/b/c"]),
        ("/", ["/", "/a"], ["a", "a/"]),
        ("https://a.org/", ["https://a.org/", "https://a.org/x"],
         ["https://a.org", "https://a.org.uk/", "http://a.org/x"]),
        ("https://a.org/x/", ["https://a.org/x/"], ["https://a.org/x/y", "https://a.org/x"]),
        ("a.org/", ["a.org/"], ["a.org/x", "a.org"]),
        ("a/b/c/", ["a/b/c/"], ["a/b/c/d", "a/b/c"]),
        ("$ make", ["$ make"], ["$ make x", "$ mak"]),
    ],
)  # fmt: skip
def test_a_target_covers_itself_what_lies_in_a_folder_and_the_addresses_of_a_site(
    granted: str, covered: Sequence[str], others: Sequence[str]
) -> None:
    assert {target: lies_in(granted, target) for target in (*covered, *others)} == {
        **dict.fromkeys(covered, True),
        **dict.fromkeys(others, False),
    }
    grant = Grant("g", ALICE, CREATE, granted, FOREVER)
    assert all(grant.covers(CREATE, target) for target in covered)
    assert not any(grant.covers(RUN, target) for target in covered)


@pytest.mark.requirement("guard:grants-properties")
def test_a_grant_names_its_very_target_and_one_of_a_pattern_names_none() -> None:
    folder = Grant("g", ALICE, CREATE, "/a/b/", FOREVER)
    named = {target: folder.names(target) for target in ("/a/b", "/a/b/", "/a/b/c", "/a")}
    assert named == {"/a/b": True, "/a/b/": True, "/a/b/c": False, "/a": False}
    make = CommandPattern.of("make")
    assert not Grant("g", ALICE, RUN, "$ make", FOREVER, pattern=make).names("$ make")


@pytest.mark.requirement("guard:grants-properties")
def test_a_folder_is_granted_with_all_below_it_and_anything_else_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    here = str(tmp_path)
    wide = {target: wide_as_it_is(target) for target in ("folder", f"{here}/file", f"{here}/none")}
    assert wide == {target: target for target in wide}
    assert wide_as_it_is(f"{here}/folder") == wide_as_it_is(f"{here}/folder/") == f"{here}/folder/"


@pytest.mark.requirement("guard:grants-properties")
@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ("a.org", ["connect to a.org:443", "connect to a.org:80"]),
        ("a.org:443", ["connect to a.org:443"]),
        ("*.a.org", ["connect to b.a.org:443"]),
        ("b.org", []),
    ],
)
def test_a_grant_of_hosts_reaches_them_at_their_ports_and_no_other_target(
    entry: str, covered: Sequence[str]
) -> None:
    grant = Grant("g", ALICE, "x", entry, FOREVER, pattern=HostEntry.of(entry))
    targets = (
        "connect to a.org:443", "connect to a.org:80", "connect to b.a.org:443", "connect to x",
        "connect to /run/a.org", "a.org", "$ a.org", "",
    )  # fmt: skip
    assert [target for target in targets if grant.covers("x", target)] == covered


@pytest.mark.requirement("guard:grants-properties")
@pytest.mark.parametrize(
    ("command", "covered"),
    [
        ("make", True), ("make x; ls", True), ("make; touch a", True), ("make; cp a b", False),
        ("ls", False), ("", False), ("make > a", False), ("make < a", True), ("make; touch a > b", False),
        ("make $X", False), ("PATH=/x make", False), ("if", False), ("touch a; rm -rf b", False),
        ("sudo make", False), ("rm -rf b", False), ("rm b", True),
    ],
)  # fmt: skip
def test_words_cover_a_command_of_which_they_begin_every_part_that_does_more_than_read(
    command: str, *, covered: bool
) -> None:
    patterns = [CommandPattern.of(words) for words in ("make", "touch", "rm", "sudo")]
    assert patterns_cover(patterns, READER.read(command)) is covered
    one = Grant("g", ALICE, RUN, "make ...", FOREVER, pattern=patterns[0])
    assert one.covers(RUN, "$ make", READER.read("make"))
    assert not one.covers(RUN, "$ make")  # nobody has read it
    assert not one.covers(RUN, "$ touch a", READER.read("touch a"))


class Ledger:
    """What other programs are told, and what they took back."""

    def __init__(self) -> None:
        self.told: list[list[LiveGrant]] = []
        self.taken: frozenset[str] = frozenset()

    def publish(self, grants: Sequence[LiveGrant]) -> None:
        """Remember it."""
        self.told.append([*grants])

    def revoked(self) -> frozenset[str]:
        """What was taken back."""
        return self.taken


@pytest.mark.requirement("guard:timed", "guard:grants-elsewhere")
def test_a_grant_holds_for_its_seconds_and_uses_and_each_change_is_told_once() -> None:
    clock, ledger = Hand(), Ledger()
    grants = Grants(clock, ledger)
    assert (grants.current(), ledger.told) == ([], [])
    timed = grants.add(ALICE, CREATE, "/a", seconds=60)
    lasting = grants.add(BOB, CREATE, "/b", seconds=FOREVER)
    counted = grants.add(ALICE, RUN, "$ make", seconds=60, uses=2)
    assert ledger.told[-1] == [
        LiveGrant(timed.id, ALICE, CREATE, "/a", 160.0, None),
        LiveGrant(lasting.id, BOB, CREATE, "/b", None, None),
        LiveGrant(counted.id, ALICE, RUN, "$ make", 160.0, 2),
    ]
    assert len(ledger.told) == 3
    assert grants.current() == [timed, lasting, counted]
    assert (grants.current(ALICE), grants.current(BOB)) == ([timed, counted], [lasting])
    clock.time += 59
    assert (grants.remaining(timed), grants.remaining(lasting)) == (1.0, math.inf)
    assert grants.find(ALICE, CREATE, "/a") == timed
    assert (grants.find(BOB, CREATE, "/a"), grants.find(ALICE, RUN, "/a")) == (None, None)
    grants.use(timed)  # any number
    grants.use(counted)
    (left,) = [grant for grant in grants.current(ALICE) if grant.uses]
    assert (left.id, left.uses, left.expires) == (counted.id, 1, counted.expires)
    grants.use(counted)  # as it was before its first use: it is not there any more
    assert grants.current() == [timed, lasting, left]
    grants.use(left)
    assert grants.current() == [timed, lasting]
    assert [len(told) for told in ledger.told] == [1, 2, 3, 3, 2]
    clock.time += 1
    assert (grants.current(), grants.find(ALICE, CREATE, "/a")) == ([lasting], None)
    assert [len(told) for told in ledger.told] == [1, 2, 3, 3, 2, 1]
    assert not grants.revoke("grant_of_nobody")
    assert len(ledger.told) == 6
    ledger.taken = frozenset({lasting.id})
    assert (grants.current(), ledger.told[6:]) == ([], [[]])
    again = grants.add(ALICE, CREATE, "/a", seconds=60)
    assert grants.revoke(again.id)
    assert ledger.told[7:] == [[LiveGrant(again.id, ALICE, CREATE, "/a", 220.0, None)], []]


@pytest.mark.requirement("guard:grants-properties")
def test_an_exact_target_is_found_by_a_grant_that_names_it_alone() -> None:
    grants = Grants(Hand())
    folder = grants.add(ALICE, CREATE, "/a/", seconds=60)
    assert grants.find(ALICE, CREATE, "/a/x") == folder
    assert grants.find(ALICE, CREATE, "/a/x", exactly=True) is None
    assert grants.find(ALICE, CREATE, "/a", exactly=True) == folder
    single = grants.add(ALICE, CREATE, "/a/x", seconds=60)
    assert grants.find(ALICE, CREATE, "/a/x", exactly=True) == single
    assert grants.find(ALICE, CREATE, "/a/x") == folder  # the first that covers it


@pytest.mark.requirement("guard:grants-properties")
def test_only_paths_that_hold_for_any_number_of_uses_as_they_are_are_handed_out(
    tmp_path: Path,
) -> None:
    grants, here = Grants(Hand()), str(tmp_path.resolve())
    for name in ("folder", "was-file"):
        (tmp_path / name).mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    for target in ("folder/", "file", "was-file", "link/", "link/x"):
        grants.add(ALICE, CREATE, f"{here}/{target}", seconds=60)
    grants.add(ALICE, CREATE, f"{here}/once/", seconds=60, uses=1)
    grants.add(ALICE, RUN, f"{here}/other/", seconds=60)
    grants.add(BOB, CREATE, f"{here}/bob/", seconds=60)
    grants.add(ALICE, CREATE, "relative/", seconds=60)
    assert grants.real_paths(ALICE, CREATE) == (f"{here}/folder", f"{here}/file")
    grants.add(BOB, CREATE, "/", seconds=60)
    assert grants.real_paths(BOB, CREATE) == (f"{here}/bob", "/")
