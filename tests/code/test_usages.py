"""list_usages: what a name is at each place, by the grammar of its language."""

import pytest

from sam_tui.adapters.code import TreeSitterSymbols
from tests.code.conftest import Workshop

D, C, L, R = "definition", "declaration", "call", "reference"

LANGUAGES: dict[str, tuple[str, str]] = {
    "a.py": (
        "from x import foo as bar\nfoo = 1\ndef foo(a, foo=2):\n    'foo'\n    # foo\n"
        "    self.foo(foo)\n    return f'{foo} foo'\nclass foo(Base): pass\n@foo\ndef g(): foo.x()\n"
        "for foo in y: pass\n",
        "R1 C2 D3 C3 L6 R6 R7 D8 L9 R10 C11",
    ),
    "a.js": (
        "export default function foo() {}\nfoo?.();\na.foo = 3;\nvar foo = () => 1;\n// foo\n"
        "class A { foo() { return `${foo} foo` } }\n",
        "D1 L2 R3 D4 D6 R6",
    ),
    "a.ts": (
        'import { foo } from "foo";\nconst foo = 1;\nnew foo();\nx.foo.bar();\nlet v: foo<string>;\n'
        "interface foo { foo(): void }\ntype B = foo;\nfunction g(foo: number) {}\n",
        "C1 C2 L3 R4 R5 D6 C6 R7 C8",
    ),
    "a.tsx": ("const a = <foo b={foo}/>;\nfoo();\nenum foo { A }\n", "R1 R1 L2 D3"),
    "a.go": (
        "package a\nfunc foo(x int) int { return foo(x) }\nfunc (t *T) foo() { t.foo() }\n"
        "type foo struct { foo int }\nvar foo = 1\nfunc b(foo int) { foo := 2; z(foo) }\n",
        "D2 L2 D3 L3 D4 C4 C5 C6 C6 R6",
    ),
    "a.rs": (
        "fn foo(x: i32) -> i32 { foo(x) }\nstruct foo { a: i32 }\n"
        "impl foo { fn foo(&self) { self.foo(); a::foo(); foo!(); } }\nuse a::foo;\n"
        "fn g(foo: i32) { let foo = 1; bar(foo); }\ntrait T { fn foo(&self); }\n",
        "D1 L1 D2 R3 D3 L3 L3 L3 R4 C5 C5 R5 C6",
    ),
    "A.java": (
        "class foo extends foo {\n  foo x;\n  foo() { new foo(); }\n  void foo(foo foo) { a.foo(); }\n"
        "  int y = foo; // foo\n}\ninterface I { void foo(); }\n",
        "D1 R1 R2 D3 L3 D4 R4 C4 L4 R5 D7",
    ),
    "a.c": (
        "#define foo 1\nint foo(int a);\nint foo(int a) { return foo(a); }\nstruct foo { int foo; };\n"
        'struct foo *p;\nvoid g(int foo) { s->foo(1); foo; puts("foo"); }\ntypedef int foo;\n',
        "D1 C2 D3 L3 D4 C4 C5 C6 L6 R6 D7",
    ),
    "a.cpp": (
        "class foo { void foo(); int foo() { return 1; } };\nvoid ns::foo() { this->foo(); }\n"
        "namespace foo {}\ntemplate<class T> T foo(T x) { return std::foo<int>(); }\nusing foo = int;\n"
        "auto p = new foo();\n",
        "D1 C1 D1 D2 L2 D3 D4 L4 D5 L6",
    ),
    "a.h": ("class foo {\npublic:\n  foo();\n};\n", "D1 C3"),
}


@pytest.mark.requirement("files:usages-grammar")
@pytest.mark.parametrize("path", LANGUAGES)
def test_each_place_is_what_the_grammar_says(path: str):
    text, expected = LANGUAGES[path]
    symbols = TreeSitterSymbols()
    letters = {D: "D", C: "C", L: "L", R: "R", "text": "T"}
    found = symbols.usages(path, text.encode(), "foo")
    assert " ".join(f"{letters[u.kind]}{u.line}" for u in found) == expected


@pytest.mark.requirement("files:usages-grammar")
def test_positions_count_characters_and_say_what_encloses_them():
    text = "class Ä:\n    def é(self):\n        ü = 'é'; foo(é)\n"
    (usage,) = TreeSitterSymbols().usages("a.py", text.encode(), "foo")
    assert (usage.line, usage.column, usage.within) == (3, 18, "Ä.é")
    found = TreeSitterSymbols().usages("a.py", text.encode(), "é")
    assert [(u.kind, u.line, u.column) for u in found] == [(D, 2, 9), (R, 3, 22)]


@pytest.mark.requirement("files:usages")
async def test_usages_of_a_workspace_come_definitions_first(shop: Workshop):
    shop.write(
        "lib/shape.py",
        "class Shape:\n    def area(self): ...\n\nclass Other:\n    def area(self): ...\n",
    )
    shop.write("main.ts", "const s = new Shape();\ns.area();\n")
    shop.write("notes.txt", "The area of a Shape.\nareas are not\n")
    shop.write(".gitignore", "skipped.py\n")
    shop.write("skipped.py", "Shape()\n")
    done = await shop.done("list_usages", symbolName="area")
    assert done.finished.text.splitlines() == [
        "area: 2 definitions, 1 call, 1 as text in 3 files; text: no grammar for that language, so "
        "any mention of the word",
        "definition lib/shape.py:2:9 in Shape: def area(self): ...",
        "definition lib/shape.py:5:9 in Other: def area(self): ...",
        "call main.ts:2:3: s.area();",
        "text notes.txt:1:5: The area of a Shape.",
    ]
    assert done.data["counts"] == {"definition": 2, "call": 1, "text": 1}
    held = await shop.done("list_usages", symbolName="Shape.area()")
    assert [u["line"] for u in held.data["usages"] if u["kind"] == D] == [2]
    some = await shop.done("list_usages", symbolName="area", filePaths=["lib", "main.ts"], limit=1)
    assert (some.data["totalCount"], some.data["count"], some.data["truncated"]) == (3, 1, True)
    assert "2 more" in some.finished.text
    none = await shop.done("list_usages", symbolName="nowhere_to_be_found")
    assert none.finished.text == "no usage of nowhere_to_be_found"


@pytest.mark.requirement("files:usages")
async def test_odd_names_are_taken_literally(shop: Workshop):
    shop.write("a.js", "const $el = 1; use($el); const el = 2; a$el;\n")
    done = await shop.done("list_usages", symbolName="$el")
    assert [(u["kind"], u["column"]) for u in done.data["usages"]] == [(C, 7), (R, 20)]
    assert (await shop.done("list_usages", symbolName="el")).data["totalCount"] == 1
    assert (await shop.done("list_usages", symbolName="a(b")).data["totalCount"] == 0
    assert "is not a name" in await shop.refused("list_usages", symbolName="two words")
    text = await shop.refused("list_usages", symbolName="x", filePaths=["/etc/hostname"])
    assert "needs an approval" in text
