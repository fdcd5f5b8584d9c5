"""What every test stands on: its own home and state, no cwd of value, loopback only."""

import ipaddress
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.clock import CountingIds, FixedClock

REPO = Path(__file__).resolve().parent.parent
KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "COVERAGE_PROCESS_START")


def is_loopback(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if host is None or host in ("", "localhost"):
        return True
    try:
        return ipaddress.ip_address(str(host).partition("%")[0]).is_loopback
    except ValueError:
        return False


def guarded_connect(connect: Callable[..., object]) -> Callable[..., object]:
    def only_loopback(self: socket.socket, address: object) -> object:
        if isinstance(address, tuple) and not is_loopback(address[0]):
            pytest.fail(f"A test tried to reach {address!r}; only loopback is allowed.")
        return connect(self, address)

    return only_loopback


def guarded_lookup(lookup: Callable[..., object]) -> Callable[..., object]:
    """Names under `.invalid` fail as the resolver would fail them, without a packet sent."""

    def only_loopback(host: object, *rest: object, **options: object) -> object:
        name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
        if isinstance(name, str) and name.rstrip(".").endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if not is_loopback(name):
            pytest.fail(f"A test tried to look up {name!r}; only loopback is allowed.")
        return lookup(host, *rest, **options)

    return only_loopback


@pytest.fixture(autouse=True)
def own_surroundings(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A fresh base folder: `home` is HOME, `reasonix` the Reasonix home, `elsewhere` the cwd."""
    base = tmp_path_factory.mktemp("base").resolve()
    for name in ("home", "reasonix", "elsewhere"):
        (base / name).mkdir(mode=0o700)
    for name in list(os.environ):
        if name not in KEPT_VARIABLES and not name.startswith(("PYTEST", "CI")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(base / "home"))
    monkeypatch.setenv("USERPROFILE", str(base / "home"))
    monkeypatch.setenv("REASONIX_HOME", str(base / "reasonix"))
    monkeypatch.setenv("PYTHONPATH", str(REPO / "server"))
    monkeypatch.chdir(base / "elsewhere")
    return base


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outside world is out of reach of the test process (children have no proxy either)."""
    monkeypatch.setattr(socket.socket, "connect", guarded_connect(socket.socket.connect))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect(socket.socket.connect_ex))
    monkeypatch.setattr(socket, "getaddrinfo", guarded_lookup(socket.getaddrinfo))


@pytest.fixture
def base(own_surroundings: Path) -> Path:
    return own_surroundings


@pytest.fixture
def reasonix_home(base: Path) -> Path:
    return base / "reasonix"


@pytest.fixture
def child_env(own_surroundings: Path) -> dict[str, str]:
    """The environment for real child processes, `python -m reasonix` included."""
    return dict(os.environ)


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture
def ids() -> CountingIds:
    return CountingIds()
