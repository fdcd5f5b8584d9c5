"""The base of every value that leaves the process: to an editor, to disk, to a model."""

from msgspec import Struct


class Record(Struct, frozen=True, rename="camel", omit_defaults=True):
    """An immutable record: snake_case in Python, camelCase in JSON.

    A field at its default is absent on the wire, so give a default only to a field whose
    absence says the same thing.
    """
