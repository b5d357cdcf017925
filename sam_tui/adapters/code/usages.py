"""The ``Symbols`` port: the use of a name at each of its places, by the syntax around it."""

import importlib
import re
import threading
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from sam_tui.core.ports.code import SymbolUsage, UsageKind

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


_WHEELS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
}
_EXTENSIONS = {
    "python": "py pyi pyw",
    "javascript": "js jsx mjs cjs",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "go": "go",
    "rust": "rs",
    "java": "java",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl cu",
}
_LANGUAGES = {
    extension: language for language, names in _EXTENSIONS.items() for extension in names.split()
}


def language_of(path: str, data: bytes = b"") -> str:
    """Return the language of a file by its name (and a C++ header by its content); empty for none."""
    language = _LANGUAGES.get(path.rpartition(".")[2].lower(), "")
    plus_plus = (b"class ", b"namespace ", b"template", b"public:")
    if language == "c" and path.endswith(".h") and any(word in data for word in plus_plus):
        return "cpp"
    return language if language and parser(language) is not None else ""


@cache
def parser(language: str) -> "Parser | None":
    """The parser of a language; None where its wheel is not installed."""
    try:
        from tree_sitter import Language, Parser

        module, function = _WHEELS[language]
        pointer = getattr(importlib.import_module(module), function)()
        return Parser(Language(pointer))  # pyright: ignore[reportDeprecated] # a capsule, untyped
    except (ImportError, AttributeError, ValueError):
        return None


_MOST_BYTES = 2_000_000
_MOST_PLACES = 2000
_MOST_CHILDREN = 200

_NO_CODE = frozenset((
    "comment", "line_comment", "block_comment", "string_content", "string_fragment", "string",
    "string_literal", "raw_string_literal", "interpreted_string_literal", "char_literal",
    "template_string", "escape_sequence", "system_lib_string", "regex_pattern", "heredoc_content",
    "raw_string_content", "interpreted_string_literal_content", "raw_string_literal_content",
))  # fmt: skip
_DEFINING = frozenset((
    # python
    "function_definition", "class_definition", "type_alias_statement",
    # javascript, typescript
    "function_declaration", "generator_function_declaration", "class_declaration", "class",
    "function_expression", "method_definition", "interface_declaration", "enum_declaration",
    "type_alias_declaration", "abstract_class_declaration", "internal_module", "module",
    # go
    "method_declaration", "type_spec", "type_alias",
    # rust
    "function_item", "struct_item", "enum_item", "trait_item", "union_item", "type_item", "mod_item",
    "macro_definition", "const_item", "static_item", "enum_variant", "associated_type",
    # java
    "constructor_declaration", "record_declaration", "annotation_type_declaration",
    "enum_constant",
    # c, c++
    "preproc_def", "preproc_function_def", "namespace_definition", "concept_definition",
    "enumerator", "alias_declaration",
))  # fmt: skip
_DEFINING_WITH_BODY = frozenset((
    "struct_specifier", "class_specifier", "enum_specifier", "union_specifier",
))  # fmt: skip
_DECLARING = frozenset((
    "function_signature", "function_signature_item", "method_signature", "property_signature",
    "abstract_method_signature", "variable_declarator", "public_field_definition",
    "field_definition", "parameter", "parameters", "required_parameter", "optional_parameter",
    "formal_parameter", "formal_parameters", "parameter_declaration", "default_parameter",
    "typed_parameter", "typed_default_parameter", "optional_parameter_declaration",
    "lambda_parameters", "var_spec", "const_spec", "field_declaration", "let_declaration",
    "named_expression", "declaration", "init_declarator", "method_spec", "method_elem",
    "variadic_parameter", "spread_parameter", "type_parameter", "self_parameter",
    "closure_parameters", "struct_specifier", "class_specifier", "enum_specifier",
    "union_specifier", "type_definition", "import_specifier", "struct_pattern", "rest_pattern",
    "local_variable_declaration", "inferred_parameters", "type_parameter_declaration",
))  # fmt: skip
_DECLARING_FIELDS = frozenset((
    "name", "declarator", "pattern", "left", "alias", "parameter", "parameters",
))  # fmt: skip
_CALLS = frozenset((
    "call", "call_expression", "new_expression", "macro_invocation", "method_invocation",
    "object_creation_expression", "decorator", "explicit_constructor_invocation", "annotation",
    "marker_annotation",
))  # fmt: skip
_CALLED_FIELDS = frozenset(("function", "constructor", "macro", "name", "type", None))
_MEMBERS = frozenset((
    "attribute", "member_expression", "selector_expression", "field_expression",
    "scoped_identifier", "qualified_identifier", "generic_function", "nested_identifier",
    "template_function", "scoped_type_identifier", "generic_type", "non_null_expression",
    "parenthesized_expression", "qualified_type", "template_type", "optional_chain",
))  # fmt: skip
_DECLARATORS = frozenset((
    "pointer_declarator", "reference_declarator", "array_declarator", "parenthesized_declarator",
    "qualified_identifier", "init_declarator", "function_declarator", "attributed_declarator",
))  # fmt: skip
_ASSIGNING = frozenset((
    "assignment", "short_var_declaration", "range_clause", "for_in_clause", "augmented_assignment",
    "for_statement", "for_in_statement", "for_expression", "enhanced_for_statement", "as_pattern",
))  # fmt: skip
_PATTERNS = frozenset((
    "expression_list", "pattern_list", "tuple_pattern", "list_pattern", "array_pattern",
    "object_pattern", "identifier_list", "pair_pattern", "mut_pattern", "ref_pattern",
    "assignment_pattern", "tuple_struct_pattern", "slice_pattern", "as_pattern_target",
))  # fmt: skip


class TreeSitterSymbols:
    """Parses files with the installed grammars; a file without one is searched as text."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def usages(self, path: str, data: bytes, name: str) -> Sequence[SymbolUsage]:
        """The places of a name outside strings and comments, in order; ``text`` without a grammar."""
        spans = list(_places(data, name))
        language = language_of(path, data) if len(data) <= _MOST_BYTES else ""
        reader = parser(language) if language else None
        lines = _Lines(data)
        if reader is None:
            return [SymbolUsage("text", *lines.position(begin), "") for begin, _ in spans]
        with self._lock:
            root = reader.parse(data).root_node
        usages: list[SymbolUsage] = []
        for begin, end in spans:
            node = root.descendant_for_byte_range(begin, end)
            if node is None or node.start_byte != begin or node.end_byte != end:
                continue
            if not _is_code(node):
                continue
            usages.append(SymbolUsage(_kind(node), *lines.position(begin), _within(node)))
        return usages


class _Lines:
    """From byte offsets, in rising order, to lines and columns in characters."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._line = 1
        self._at = 0

    def position(self, at: int) -> tuple[int, int]:
        self._line += self._data.count(b"\n", self._at, at)
        self._at = at
        begin = self._data.rfind(b"\n", 0, at) + 1
        return self._line, len(self._data[begin:at].decode("utf-8", "replace")) + 1


def _places(data: bytes, name: str) -> Iterator[tuple[int, int]]:
    """The places of a name as a whole word."""
    word = re.escape(name.encode("utf-8", "surrogateescape"))
    # Bytes above ASCII belong to letters of longer words.
    pattern = re.compile(rb"(?<![\w$\x80-\xff])" + word + rb"(?![\w$\x80-\xff])")
    for number, match in enumerate(pattern.finditer(data)):
        if number == _MOST_PLACES:
            return
        yield match.span()


def _is_code(node: "Node") -> bool:
    """Whether it is part of the program; an interpolation within a string is."""
    above: Node | None = node
    while above is not None:
        if above.type in ("interpolation", "template_substitution"):
            return True
        if above.type in _NO_CODE:
            return False
        above = above.parent
    return True


def _kind(node: "Node") -> UsageKind:
    parent = node.parent
    if parent is None:
        return "reference"
    field = _field(parent, node)
    if (defined := _defined(parent, field)) is not None:
        return defined
    if parent.type in _DECLARATORS and field in ("declarator", "name", None):
        return _declared(parent)
    if _is_called(node):
        return "call"
    if parent.type in _DECLARING and (field is None or field in _DECLARING_FIELDS):
        return "declaration"
    return "declaration" if _is_assigned(node) else "reference"


def _defined(parent: "Node", field: str | None) -> UsageKind | None:
    """Whether a field of a syntax node makes its name a definition, a declaration, or neither (None)."""
    if parent.type in _DEFINING and field in ("name", "alias", "left"):
        return "definition"
    if (parent.type, field) == ("type_definition", "declarator"):
        return "definition"
    if field != "name":
        return None
    if parent.type in _DEFINING_WITH_BODY:
        return "definition" if parent.child_by_field_name("body") else "declaration"
    if parent.type == "variable_declarator":
        value = parent.child_by_field_name("value")
        functions = ("arrow_function", "function_expression", "function", "class")
        return "definition" if value is not None and value.type in functions else "declaration"
    return None


def _field(parent: "Node", node: "Node") -> str | None:
    if parent.child_count > _MOST_CHILDREN:
        return None  # a list of values: those have no fields
    for index, child in enumerate(parent.children):
        if child.id == node.id:
            return parent.field_name_for_child(index)
    return None


def _declared(declarator: "Node") -> UsageKind:
    """The kind of a C declarator: with a body a definition, else a declaration."""
    above: Node | None = declarator
    function = False
    while above is not None and above.type in _DECLARATORS:
        function = function or above.type == "function_declarator"
        above = above.parent
    if above is None:
        return "reference"
    if above.type == "function_definition":
        return "definition"
    if above.type in _CALLS:
        return "call"
    if above.type == "type_definition":
        return "definition"
    return "declaration" if function or above.type in _DECLARING else "reference"


def _is_called(node: "Node") -> bool:
    """Whether a node is the name of a called function, also as the last part of ``a.b.name()``."""
    below = node
    above = node.parent
    while above is not None and above.type in _MEMBERS:
        last = above.named_children[-1] if above.named_children else None
        first = above.named_children[0] if above.named_children else None
        generic = above.type in (
            "generic_type",
            "template_type",
            "generic_function",
            "template_function",
        )
        if (first if generic else last) != below:
            return False
        below, above = above, above.parent
    if above is None or above.type not in _CALLS:
        return False
    return _field(above, below) in _CALLED_FIELDS


def _is_assigned(node: "Node") -> bool:
    """Whether an assignment gives the bare name a value."""
    below: Node = node
    above = node.parent
    while above is not None and above.type in _PATTERNS:
        below, above = above, above.parent
    if above is None:
        return False
    field = _field(above, below)
    if above.type in _ASSIGNING:
        return field in ("left", "pattern", "alias", "name")
    return above.type in _DECLARING and field in _DECLARING_FIELDS


def _within(node: "Node") -> str:
    """The names of the enclosing definitions, outermost first, such as ``Class.method``."""
    names: list[str] = []
    below, above = node, node.parent
    while above is not None:
        if (
            above.type in _DEFINING
            or above.type in _DEFINING_WITH_BODY
            or above.type == "impl_item"
        ):
            name = _name_of(above)
            if name is not None and name.id != below.id and name.id != node.id:
                names.append((name.text or b"").decode("utf-8", "replace")[:80])
        below, above = above, above.parent
    return ".".join(reversed(names))


def _name_of(node: "Node") -> "Node | None":
    name = node.child_by_field_name("type" if node.type == "impl_item" else "name")
    declarator = node.child_by_field_name("declarator")
    while name is None and declarator is not None:
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            return declarator
        declarator = inner
    return name
