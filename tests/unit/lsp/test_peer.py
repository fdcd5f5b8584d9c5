from pathlib import Path
from typing import Any

import pytest

from reasonix.lsp.fault import Fault
from reasonix.lsp.peer import Extension, read_peer


def own(**flags: Any) -> dict[str, Any]:
    return {"capabilities": {"experimental": {"reasonix": flags}}}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"capabilities": {}},
        {"capabilities": {"experimental": None}, "initializationOptions": None},
        {"capabilities": {"experimental": ["other"]}},
        {"capabilities": {"experimental": {"serverStatusNotification": True}}},
        {"capabilities": {"window": None}},
    ],
)
def test_a_plain_client_has_no_extension(params: dict[str, Any]) -> None:
    peer = read_peer(params)
    assert (peer.extension, peer.flags, peer.progress) == (None, Extension(), False)
    assert peer.trusted_roots() is False


def test_each_flag_stands_alone_and_unknown_ones_are_ignored() -> None:
    peer = read_peer(own(version=1, events=True, ownsCommands=True, teleport=True))
    assert peer.flags == Extension(version=1, events=True, owns_commands=True)


def test_progress_is_what_the_client_declares() -> None:
    window = {"workDoneProgress": True, "showMessage": {}}
    assert read_peer({"capabilities": {"window": window}}).progress


def test_options_of_ours_are_read_and_others_ignored() -> None:
    options = {
        "config": {"agent": {"max_steps": 3}, "tools.enabled": ["ls"]},
        "model": "p/m",
        "permissionMode": "read-only",
        "trusted": ["file:///a%20b", "untitled:x", "/c"],
        "someOtherServer": 1,
    }
    peer = read_peer({"initializationOptions": options})
    assert peer.config_flags() == {"agent.max_steps": 3, "tools.enabled": ["ls"]}
    assert peer.trusted_roots() == (Path("/a b"), Path("/c"))
    assert (peer.options.model, peer.options.permission_mode) == ("p/m", "read-only")


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"initializationOptions": {"trusted": "yes"}}, "initializationOptions.trusted"),
        ({"initializationOptions": {"config": []}}, "initializationOptions.config"),
        ({"initializationOptions": []}, "initializationOptions"),
        ({"processId": "7"}, "processId"),
        (own(version="one"), "reasonix.version"),
        (own(events="yes"), "reasonix.events"),
    ],
)
def test_a_wrong_type_names_its_field(params: dict[str, Any], field: str) -> None:
    with pytest.raises(Fault) as failed:
        read_peer(params)
    assert failed.value.data == {"code": "wrong_type", "field": field, "retry": False}
