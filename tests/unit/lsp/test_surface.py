from typing import get_args

import pytest

from reasonix.core.event import Event
from reasonix.lsp.commands import COMMANDS
from reasonix.lsp.fault import CODES
from reasonix.lsp.surface import COMMANDS as NAMES
from reasonix.lsp.surface import EVENTS, NOT_YET


def test_what_is_advertised_is_what_has_a_handler() -> None:
    assert tuple(command.name for command in COMMANDS) == NAMES


def test_no_command_stands_twice() -> None:
    every = (*NAMES, *NOT_YET)
    assert len(set(every)) == len(every)
    assert all(name.startswith("reasonix.") for name in every)


def test_every_event_type_is_named() -> None:
    tags = tuple(kind.__struct_config__.tag for kind in get_args(Event))
    assert tags == EVENTS


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_a_number_of_the_table(code: str) -> None:
    assert CODES[code] in (-32602, -32803)
