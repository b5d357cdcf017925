"""multi_replace_string: each item exact, all of them or none."""

from typing import Any

import pytest


@pytest.mark.requirement("files:multi-replace")
async def test_items_of_several_files_are_made_together(shop: Any):
    shop.write("a.txt", "x = 1\r\ny = x\r\n")
    shop.write("b.txt", "AAA BBB AAA\n")
    done = await shop.done(
        "multi_replace_string",
        filePath="a.txt",
        replacements=[
            {"oldString": "x = 1\ny", "newString": "z = 1\ny"},
            {
                "file_path": "b.txt",
                "old_string": "AAA",
                "newString": "1",
                "expectedReplacements": "2",
            },
            {"oldString": "y = x", "newString": "y = z"},
        ],
    )
    assert shop.read("a.txt") == "z = 1\r\ny = z\r\n"
    assert shop.read("b.txt") == "1 BBB 1\n"
    assert done.finished.text.startswith("Replaced 4 places in 2 files (+3 -3)")
    assert [d.path for d in done.finished.display] == ["a.txt", "b.txt"]
    assert len(shop.journal.entries(shop.conversation)) == 1


@pytest.mark.requirement("files:multi-replace")
async def test_later_items_see_what_earlier_ones_of_the_file_made(shop: Any):
    shop.write("a.txt", "one\n")
    await shop.done(
        "multi_replace_string",
        replacements=[
            {"filePath": "a.txt", "oldString": "one", "newString": "two"},
            {"filePath": "./a.txt", "oldString": "two", "newString": "three"},
        ],
    )
    assert shop.read("a.txt") == "three\n"


@pytest.mark.requirement("files:multi-replace")
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"oldString": "nothing like it", "newString": "x"}, "replacements[1]: oldString does not"),
        (
            {"oldString": "l", "newString": "x"},
            "replacements[1]: oldString occurs 2 times in b.txt",
        ),
        ({"oldString": "", "newString": "x"}, "replacements[1]: oldString is empty"),
        ({"oldString": "l", "newString": "l"}, "are the same"),
        (
            {"oldString": "x", "newString": "l", "filePath": "none"},
            "none cannot be read: not found",
        ),
        ({"oldString": "x", "newString": "l", "filePath": "../n"}, "needs an approval"),
        ({"oldString": "x", "filePath": "b.txt"}, "`replacements.1.newString` is missing"),
    ],
)
async def test_one_item_that_cannot_be_made_leaves_all_files_alone(
    shop: Any, bad: dict[str, str], said: str
):
    shop.write("a.txt", "one\n")
    shop.write("b.txt", "hello\n")
    items = [
        {"filePath": "a.txt", "oldString": "one", "newString": "two"},
        {"filePath": "b.txt", **bad},
    ]
    assert said in await shop.refused("multi_replace_string", replacements=items)


@pytest.mark.requirement("files:multi-replace")
async def test_an_item_without_a_file_needs_a_default(shop: Any):
    text = await shop.refused(
        "multi_replace_string", replacements=[{"oldString": "a", "newString": "b"}]
    )
    assert "replacements[0] has no filePath" in text
