"""A command's surroundings made of strings, and a models endpoint on loopback."""

import argparse
import io
import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from reasonix.cli.io import CliIo


class Terminal:
    """What a command reads and what it said. `secret` answers the question for a key."""

    def __init__(
        self,
        env: Mapping[str, str],
        cwd: Path,
        stdin: str = "",
        *,
        tty: bool = False,
        secret: str = "",
    ) -> None:
        self.stdout, self.stderr = io.StringIO(), io.StringIO()
        self.asked: list[str] = []

        def read_secret(question: str) -> str:
            self.asked.append(question)
            return secret

        self.io = CliIo(
            env=env,
            cwd=cwd,
            stdin=io.StringIO(stdin),
            stdout=self.stdout,
            stderr=self.stderr,
            stdin_is_tty=tty,
            read_secret=read_secret,
        )

    @property
    def out(self) -> str:
        return self.stdout.getvalue()

    @property
    def err(self) -> str:
        return self.stderr.getvalue()


def parsed(add: Callable[[argparse.ArgumentParser], None], *words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add(parser)
    return parser.parse_args(words)


class ModelsEndpoint:
    """GET .../models answers `status` and `body`; `keys` are the Authorization headers seen."""

    def __init__(self, status: int = 200, body: object = None) -> None:
        self.status = status
        self.body = body if body is not None else {"data": [{"id": "m1"}, {"id": "m2"}]}
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.base_url = ""

    @contextmanager
    def serving(self) -> Generator["ModelsEndpoint"]:
        endpoint = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                endpoint.keys.append(self.headers.get("Authorization"))
                endpoint.paths.append(self.path)
                body = endpoint.body
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                at_home = self.path == "/v1/models"
                self.send_response(endpoint.status if at_home else 404)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            self.base_url = f"http://127.0.0.1:{server.server_port}/v1"
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
