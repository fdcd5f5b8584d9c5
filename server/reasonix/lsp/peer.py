"""What the client said of itself in `initialize`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from reasonix.lsp.fault import INVALID_PARAMS, Fault
from reasonix.lsp.shape import field_of
from reasonix.lsp.uri import path_of

VERSION = 1
"""Of the extension, PROTOCOL §2."""


class Extension(Struct, frozen=True, rename="camel"):
    """`capabilities.experimental.reasonix`. Unknown flags are ignored."""

    version: int = 0
    events: bool = False
    approvals: bool = False
    questions: bool = False
    diagnostics: bool = False
    navigation: bool = False
    save: bool = False
    owns_commands: bool = False


class Options(Struct, frozen=True, rename="camel"):
    """`initializationOptions`. config: tables as in config.toml, or dotted keys."""

    config: dict[str, Any] | None = None
    model: str | None = None
    permission_mode: str | None = None
    home: str | None = None
    trusted: bool | list[str] | None = None
    token: str | None = None


class Peer(Struct, frozen=True):
    """extension: None where the client did not declare it."""

    extension: Extension | None
    options: Options
    process_id: int | None
    progress: bool

    @property
    def flags(self) -> Extension:
        return self.extension or Extension()

    def trusted_roots(self) -> bool | tuple[Path, ...]:
        """True: every root; else the roots that the editor trusts."""
        trusted = self.options.trusted
        if isinstance(trusted, bool) or trusted is None:
            return bool(trusted)
        paths = (path_of(uri) for uri in trusted)
        return tuple(path for path in paths if path is not None)

    def config_flags(self) -> dict[str, object]:
        """`config` by dotted key."""
        found: dict[str, object] = {}
        _flatten("", self.options.config or {}, found)
        return found


class _Window(Struct, frozen=True, rename="camel"):
    work_done_progress: bool | None = None


class _Experimental(Struct, frozen=True):
    reasonix: Extension | None = None


class _Capabilities(Struct, frozen=True):
    window: _Window | None = None
    experimental: Any = None


class _Initialize(Struct, frozen=True, rename="camel"):
    process_id: int | None = None
    initialization_options: Options | None = None
    capabilities: _Capabilities = _Capabilities()


def read_peer(params: Any) -> Peer:
    """Read the params of `initialize`.

    Raises:
        Fault: A field of ours has the wrong type.
    """
    try:
        said = msgspec.convert(params, _Initialize)
        experimental = said.capabilities.experimental
        # Other servers' clients may put anything here; only our own key is ours to check.
        has_own = isinstance(experimental, dict)
        extension = msgspec.convert(experimental, _Experimental).reasonix if has_own else None
    except msgspec.ValidationError as error:
        data = {"code": "wrong_type", "field": field_of(error), "retry": False}
        raise Fault(INVALID_PARAMS, f"initialize: {error}.", data) from error
    return Peer(
        extension=extension,
        options=said.initialization_options or Options(),
        process_id=said.process_id,
        progress=bool(said.capabilities.window and said.capabilities.window.work_done_progress),
    )


def _flatten(prefix: str, table: Mapping[str, Any], into: dict[str, object]) -> None:
    for key, value in table.items():
        if isinstance(value, dict):
            _flatten(f"{prefix}{key}.", cast(Mapping[str, Any], value), into)
        else:
            into[f"{prefix}{key}"] = value
