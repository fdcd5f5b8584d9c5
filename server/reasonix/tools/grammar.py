"""The languages whose symbols are known: a row each.

A query of a row marks what it finds by capture names. A kind (`@function`, `@class`, ...) is a
definition and comes with its `@name`, and with its `@parent` where that does not stand around it.
`@scope` has a name and holds definitions, but is none; `@local` is a body without a name, whose
variables are nobody's symbols. `@doc` is a comment, `@attached` what belongs to the definition
behind it whatever stands between. Of several patterns for one name the first one counts. A
`@function` directly in a class is a method, a `@var` there a field.
"""

from pathlib import PurePath
from typing import NamedTuple

from reasonix.core.error import ToolFault

KINDS = (
    "class",
    "const",
    "constructor",
    "enum",
    "field",
    "function",
    "interface",
    "macro",
    "method",
    "module",
    "record",
    "struct",
    "trait",
    "type",
    "var",
)


class Grammar(NamedTuple):
    """One language.

    Attributes:
        suffixes: Of file names, in lower case.
        package: The module that brings the grammar; `entry` is its function.
        query: What its definitions are (see above).
        wrappers: Nodes that go with the one definition they hold; `peers` are definitions that
            differ in type and yet share a wrapper.
        capitals: A variable whose name is all capitals is a constant.
        filler: A node that must not be empty, and the statement that fills it.
        counted: Definitions that take their value from their place among their like, and the
            name by which they do.
    """

    name: str
    suffixes: tuple[str, ...]
    package: str
    query: str
    entry: str = "language"
    wrappers: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    capitals: bool = False
    filler: tuple[str, str] | None = None
    counted: tuple[str, str] | None = None


_PYTHON = """
(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(type_alias_statement left: (type (identifier) @name)) @type
(type_alias_statement left: (type (generic_type (identifier) @name))) @type
(expression_statement (assignment left: (identifier) @name) @var)
(expression_statement (assignment left: (_ (identifier) @name)) @var)
(expression_statement (assignment right: (assignment left: (identifier) @name)) @var)
(comment) @doc
"""

_SCRIPT = """
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @method
(variable_declarator
  name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(lexical_declaration kind: "const" (variable_declarator name: (identifier) @name) @const)
(lexical_declaration kind: "let" (variable_declarator name: (identifier) @name) @var)
(variable_declaration (variable_declarator name: (identifier) @name) @var)
(lexical_declaration (variable_declarator
  name: [
    (object_pattern (shorthand_property_identifier_pattern) @name)
    (object_pattern (pair_pattern value: (identifier) @name))
    (array_pattern (identifier) @name)
  ]) @var)
(expression_statement (assignment_expression
  left: (member_expression object: (_) @parent property: (property_identifier) @name)
  right: [(arrow_function) (function_expression) (generator_function)]) @function)
[(arrow_function) (function_expression) (generator_function)] @local
(comment) @doc
"""

_JAVASCRIPT = (
    """
(class_declaration name: (identifier) @name) @class
(field_definition
  property: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @method
(field_definition property: [(property_identifier) (private_property_identifier)] @name) @field
"""
    + _SCRIPT
)

_TYPESCRIPT = (
    """
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(internal_module name: (_) @name) @module
(module name: (_) @name) @module
(function_signature name: (identifier) @name) @function
(method_signature name: (property_identifier) @name) @method
(abstract_method_signature name: (property_identifier) @name) @method
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name
  value: [(arrow_function) (function_expression)]) @method
(public_field_definition
  name: [(property_identifier) (private_property_identifier)] @name) @field
(class_body (decorator) @attached)
"""
    + _SCRIPT
)

_GO = """
(function_declaration name: (identifier) @name) @function
(method_declaration
  receiver: (parameter_list (parameter_declaration type: [
    (type_identifier) @parent
    (generic_type type: (type_identifier) @parent)
    (pointer_type (type_identifier) @parent)
    (pointer_type (generic_type type: (type_identifier) @parent))
  ]))
  name: (field_identifier) @name) @method
(type_spec name: (type_identifier) @name type: (struct_type)) @struct
(type_spec name: (type_identifier) @name type: (interface_type)) @interface
(type_spec name: (type_identifier) @name) @type
(type_alias name: (type_identifier) @name) @type
(method_elem name: (field_identifier) @name) @method
(const_spec name: (identifier) @name) @const
(var_spec name: (identifier) @name) @var
(func_literal) @local
(comment) @doc
"""

_RUST = """
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(associated_type name: (type_identifier) @name) @type
(mod_item name: (identifier) @name) @module
(const_item name: (identifier) @name) @const
(static_item name: (identifier) @name) @const
(macro_definition name: (identifier) @name) @macro
(impl_item type: (_) @name) @scope
(closure_expression) @local
[(line_comment) (block_comment)] @doc
(attribute_item) @attached
"""

_JAVA = """
(class_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(record_declaration name: (identifier) @name) @record
(method_declaration name: (identifier) @name) @method
(annotation_type_element_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @constructor
(compact_constructor_declaration name: (identifier) @name) @constructor
(field_declaration declarator: (variable_declarator name: (identifier) @name) @field)
(constant_declaration declarator: (variable_declarator name: (identifier) @name) @const)
(lambda_expression) @local
[(line_comment) (block_comment)] @doc
"""

_SCRIPT_WRAPPERS = (
    "ambient_declaration",
    "export_statement",
    "expression_statement",
    "lexical_declaration",
    "variable_declaration",
)

GRAMMARS = (
    Grammar(
        "Python",
        (".py", ".pyi", ".pyw"),
        "tree_sitter_python",
        _PYTHON,
        wrappers=("decorated_definition", "expression_statement"),
        capitals=True,
        filler=("block", "pass"),
    ),
    Grammar(
        "TypeScript",
        (".ts", ".mts", ".cts"),
        "tree_sitter_typescript",
        _TYPESCRIPT,
        "language_typescript",
        _SCRIPT_WRAPPERS,
    ),
    Grammar(
        "TSX", (".tsx",), "tree_sitter_typescript", _TYPESCRIPT, "language_tsx", _SCRIPT_WRAPPERS
    ),
    Grammar(
        "JavaScript",
        (".js", ".jsx", ".mjs", ".cjs"),
        "tree_sitter_javascript",
        _JAVASCRIPT,
        wrappers=_SCRIPT_WRAPPERS,
    ),
    Grammar(
        "Go",
        (".go",),
        "tree_sitter_go",
        _GO,
        wrappers=("const_declaration", "type_declaration", "var_declaration", "var_spec_list"),
        peers=("type_spec", "type_alias"),
        counted=("const_spec", "iota"),
    ),
    Grammar("Rust", (".rs",), "tree_sitter_rust", _RUST),
    Grammar(
        "Java",
        (".java",),
        "tree_sitter_java",
        _JAVA,
        wrappers=("constant_declaration", "field_declaration"),
    ),
)


def grammar_of(name: str, grammars: tuple[Grammar, ...] = GRAMMARS) -> Grammar | None:
    """The language of a file by its name."""
    suffix = PurePath(name).suffix.lower()
    return next((each for each in grammars if suffix in each.suffixes), None)


def known_suffixes(grammars: tuple[Grammar, ...] = GRAMMARS) -> str:
    """The endings of the files whose symbols are known, for a message."""
    return ", ".join(suffix for grammar in grammars for suffix in grammar.suffixes)


def check_kind(kind: str) -> None:
    """Refuse a kind that no symbol has.

    Raises:
        ToolFault: invalid_arguments.
    """
    if kind and kind.lower() not in KINDS:
        raise ToolFault("invalid_arguments", f"kind: {kind!r} is none of {', '.join(KINDS)}.")
