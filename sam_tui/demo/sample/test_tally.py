"""What tally promises."""

import unittest

from tally import top, words


class Tally(unittest.TestCase):
    """Words and their counts."""

    def test_punctuation_is_not_part_of_a_word(self) -> None:
        """A comma belongs to the sentence."""
        self.assertEqual(words("stop, look"), ["stop", "look"])

    def test_case_does_not_make_another_word(self) -> None:
        """The first word of a sentence is a word like the others."""
        self.assertEqual(top("The cat saw the dog.", 1), [("the", 2)])

    def test_equal_counts_are_sorted_by_name(self) -> None:
        """So the answer is the same every time."""
        self.assertEqual(top("b a", 2), [("a", 1), ("b", 1)])


if __name__ == "__main__":
    unittest.main()
