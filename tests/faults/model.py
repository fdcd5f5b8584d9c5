"""A model that reads and rewrites one file in turns; it decides by what the request holds."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fakes.chat_stream import answer_events, call_events, http_stream

FILE = "data.txt"
LINES = 1200
GO_ON = "Go on."
CALLS = {"": 8, GO_ON: 2}


def version(number: int) -> str:
    """A text of which no mixture with another version is a version."""
    return f"version {number}\n" * LINES


def is_whole(text: str) -> bool:
    first = text.partition("\n")[0]
    return first.startswith("version ") and text == f"{first}\n" * LINES


def reply(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made = [turn for turn in messages if turn.get("tool_calls")]
    users = [place for place, turn in enumerate(messages) if turn["role"] == "user"]
    since = sum(1 for turn in messages[users[-1] :] if turn.get("tool_calls"))
    asked = json.dumps(messages[users[-1]]["content"])
    if since >= (CALLS[GO_ON] if GO_ON in asked else CALLS[""]):
        return answer_events(("It ", "is ", "written."))
    number = len(made) + 1
    if number % 2:
        return call_events(f"call_{number}", "read_file", {"path": FILE})
    arguments = {"path": FILE, "content": version(number)}
    return call_events(f"call_{number}", "write_file", arguments)


class Model:
    """`requests`: the messages of each request, in order, by the key it came with."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: dict[str, list[list[dict[str, Any]]]] = {}


@contextmanager
def model() -> Iterator[Model]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            key = self.path.split("/")[1]
            served.requests.setdefault(key, []).append(body["messages"])
            self.wfile.write(http_stream(reply(body["messages"])))

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a killed client is what the test is about."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Nothing: the client was killed while it was answered."""

    server = Server(("127.0.0.1", 0), Handler)
    served = Model(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
