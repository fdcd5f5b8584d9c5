"""pygls' protocol, made fit for an agent: real cancellation, exact errors, nothing leaked.

Differences from pygls that everything above relies on: a message is decoded whole and
structured once; an async handler is one owned task, and cancelling the request cancels it; a
late answer is dropped; a request of ours that is given up is withdrawn at the client; no error
holds a traceback; nothing is served before `initialize` or after `shutdown`.
"""

import asyncio
import contextvars
import inspect
import itertools
import logging
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import attrs
from cattrs import Converter
from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
    default_converter,
    lsp_method,
)

from reasonix.core.error import ReasonixError
from reasonix.lsp.body import decode_body, encode_body
from reasonix.lsp.fault import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_INITIALIZED,
    PARSE_ERROR,
    ClientError,
    Fault,
    fault_of,
)
from reasonix.rpc.frame import encode_frame

log = logging.getLogger(__name__)

_STRUCTURE_ERRORS = (
    ExceptionGroup,
    TypeError,
    ValueError,
    LookupError,
    AttributeError,
    RecursionError,
)
"""What cattrs and its hooks trip over when a message has the wrong shape."""


class Server(Protocol):
    """What the protocol needs of the server around it."""

    def greet(self, params: Any, /) -> tuple[list[str], dict[str, Any]]:
        """Take the params of `initialize`; the commands to advertise, and the experimental part.

        Raises:
            Fault: The params can't be used; the server stays uninitialized.
        """
        ...

    async def run_command(self, name: str, arguments: Any, /) -> Any: ...

    def leave(self, code: int, /) -> None:
        """End the process. Returns at once."""
        ...


@dataclass(frozen=True, slots=True)
class Wiring:
    """tasks owns every async handler. send queues one frame and returns at once."""

    server: Server
    tasks: asyncio.TaskGroup
    send: Callable[[bytes], None]
    instance: str


def make_converter() -> Converter:
    """The converter of pygls, without its habit of renaming keys that are no Python names."""
    converter = default_converter()

    def plain(value: dict[str, Any], kind: type[Any]) -> Any:
        return kind(**value)

    for kind in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
        converter.register_structure_hook(kind, plain)
    return converter


class LspProtocol(LanguageServerProtocol):
    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        self._outgoing: dict[Any, asyncio.Future[Any]] = {}
        self._numbers = itertools.count(1)
        self._faults = itertools.count(1)
        self._phase = "new"
        self._wiring: Wiring | None = None
        self._hello: Any = None
        super().__init__(server, converter)

    def bind(self, wiring: Wiring) -> None:
        """Before the first `deliver`."""
        self._wiring = wiring

    def _wired(self) -> Wiring:
        # Not a property: pygls reads every attribute while it is being constructed.
        if self._wiring is None:
            raise RuntimeError("the protocol is not bound to a connection")
        return self._wiring

    def deliver(self, body: bytes) -> None:
        """Take one message from the client."""
        try:
            message = decode_body(body)
        except ValueError:
            self._refuse(None, Fault(PARSE_ERROR, "The message is not readable JSON."))
            return
        match message:
            case {"jsonrpc": "2.0", "method": str() as method, "id": key} if _is_id(key):
                contextvars.copy_context().run(self._take_request, key, method, message)
            case {"jsonrpc": "2.0", "method": str() as method} if "id" not in message:
                contextvars.copy_context().run(self._take_notification, method, message)
            case {"id": key, "result": _} | {"id": key, "error": _} if "method" not in message:
                self._settle(key, message)
            case list():
                self._refuse(None, Fault(INVALID_REQUEST, "Batches are not served."))
            case _:
                key = cast("Any", message).get("id") if isinstance(message, dict) else None
                text = "The message is not a JSON-RPC 2.0 message."
                self._refuse(key if _is_id(key) else None, Fault(INVALID_REQUEST, text))

    async def request(self, method: str, params: Any) -> Any:
        """Ask the client and wait. A wait that is given up is withdrawn at the client.

        Raises:
            ClientError: The client answered with an error.
        """
        key = next(self._numbers)
        future = self._outgoing[key] = asyncio.get_running_loop().create_future()
        self._put({"jsonrpc": "2.0", "id": key, "method": method, "params": self._plain(params)})
        try:
            return await future
        finally:
            if self._outgoing.pop(key, None) is not None:
                self.notify(types.CANCEL_REQUEST, {"id": key})

    def notify(self, method: str, params: Any | None = None) -> None:
        self._put({"jsonrpc": "2.0", "method": method, "params": self._plain(params)})

    def send_request(self, method: str, params: Any = None, *rest: Any, **named: Any) -> Any:
        raise RuntimeError("use `request`: it withdraws what is given up")

    def send_request_async(self, method: str, params: Any = None, msg_id: Any = None) -> Any:
        return self.request(method, params)

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(
        self, params: types.InitializeParams
    ) -> Generator[Any, Any, types.InitializeResult]:
        commands, experimental = self._wired().server.greet(self._hello)
        result = yield from super().lsp_initialize(params)
        result.capabilities.execute_command_provider = types.ExecuteCommandOptions(commands)
        result.capabilities.experimental = experimental
        self._phase = "ready"
        return result

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[Any, Any, None]:
        self._phase = "closed"
        self._shutdown = True
        for key, future in tuple(self._request_futures.items()):
            if key != self.msg_id:
                future.cancel()
        yield from ()

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[Any, Any, None]:
        self._wired().server.leave(0 if self._phase == "closed" else 1)
        yield from ()

    async def _run_command(self, params: Any) -> Any:
        """One coroutine: cancelling the request cancels whatever it awaits."""
        match params:
            case {"command": str() as name}:
                return await self._wired().server.run_command(name, params.get("arguments"))
            case _:
                data = {"code": "missing_field", "field": "command"}
                raise Fault(INVALID_PARAMS, "workspace/executeCommand needs a command.", data)

    # Of another kind than the generator it stands in for: pygls awaits either.
    lsp_workspace__execute_command: Any = lsp_method(types.WORKSPACE_EXECUTE_COMMAND)(_run_command)

    @lsp_method(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def lsp_work_done_progress_cancel(
        self, params: types.WorkDoneProgressCancelParams
    ) -> Generator[Any, Any, None]:
        # The tokens are not pygls' own: whoever made them hears of it.
        yield self._features()[types.WINDOW_WORK_DONE_PROGRESS_CANCEL], (params,), None

    def _take_request(self, key: Any, method: str, message: dict[str, Any]) -> None:
        try:
            handler, params = self._admitted(key, method, message)
        except Fault as refusal:
            self._refuse(key, refusal)
            return
        self._ctx_msg_id.set(key)
        answer = partial(self._send_handler_result, msg_id=key)
        self._execute_handler(key, handler, answer, (params,))

    def _admitted(self, key: Any, method: str, message: dict[str, Any]) -> tuple[Any, Any]:
        if self._phase == "closed":
            raise Fault(INVALID_REQUEST, "The server has been shut down.")
        if self._phase == "new" and method != types.INITIALIZE:
            raise Fault(NOT_INITIALIZED, "`initialize` must come first.")
        if self._phase == "ready" and method == types.INITIALIZE:
            raise Fault(INVALID_REQUEST, "The server is initialized already.")
        if key in self._request_futures:
            raise Fault(INVALID_REQUEST, "A request with this id is being served.")
        handler = self._handler(method)
        if handler is None:
            raise Fault(METHOD_NOT_FOUND, f"No method is called {method!r}.")
        if method == types.INITIALIZE:
            self._hello = message.get("params")
        return handler, self._structured(method, message)

    def _take_notification(self, method: str, message: dict[str, Any]) -> None:
        if method == types.CANCEL_REQUEST:
            self._cancel(message.get("params"))
            return
        handler = self._handler(method)
        if handler is None or (self._phase != "ready" and method != types.EXIT):
            return
        try:
            params = self._structured(method, message)
        except Fault as refusal:
            log.warning("%s was ignored: %s", method, refusal)
            return
        key = f"notification {next(self._numbers)}"
        self._execute_handler(key, handler, self._check_handler_result, (params,))

    def _handler(self, method: str) -> Any:
        manager: Any = self.fm
        return manager.builtin_features.get(method) or self._features().get(method)

    def _features(self) -> dict[str, Any]:
        manager: Any = self.fm
        return manager.features

    def _structured(self, method: str, message: dict[str, Any]) -> Any:
        kind = self.get_message_type(method)
        # The arguments of commands are ours to decode: cattrs would rebuild what they hold.
        if kind is None or method == types.WORKSPACE_EXECUTE_COMMAND:
            return message.get("params")
        try:
            return self._converter.structure(message, kind).params
        except _STRUCTURE_ERRORS as error:
            text = f"The params of {method} have the wrong shape."
            raise Fault(INVALID_PARAMS, text, {"code": "wrong_type", "field": "params"}) from error

    def _cancel(self, params: Any) -> None:
        key: Any = cast("Any", params).get("id") if isinstance(params, dict) else None
        future = self._request_futures.get(key) if _is_id(key) else None
        if future is not None:
            future.cancel()

    def _settle(self, key: Any, message: dict[str, Any]) -> None:
        future = self._outgoing.pop(key, None) if _is_id(key) else None
        if future is None or future.done():
            return
        match message.get("error"):
            case None:
                future.set_result(message.get("result"))
            case {"code": int() as code, "message": str() as text}:
                future.set_exception(ClientError(code, text))
            case _:
                future.set_exception(ClientError(INTERNAL_ERROR, "an unreadable error"))

    def _execute_handler(
        self,
        msg_id: Any,
        handler: Any,
        callback: Any,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not inspect.iscoroutinefunction(handler):
            super()._execute_handler(msg_id, handler, callback, args, kwargs)
            return
        outcome = asyncio.get_running_loop().create_future()
        outcome.add_done_callback(callback)
        work = self._carry(handler, args or (), outcome)
        task = self._wired().tasks.create_task(work, name=f"request {msg_id}")
        self._request_futures[msg_id] = cast("Any", task)

        def done(_: object) -> None:
            # Here and not in `_carry`: a task cancelled before its first step runs nothing.
            self._request_futures.pop(msg_id, None)
            if not outcome.done():
                outcome.cancel()

        task.add_done_callback(done)

    async def _carry(
        self,
        handler: Callable[..., Awaitable[Any]],
        args: tuple[Any, ...],
        outcome: "asyncio.Future[Any]",
    ) -> None:
        """Run one async handler; what it raises is its answer, not the end of its siblings."""
        try:
            outcome.set_result(await handler(*args))
        except Exception as error:  # noqa: BLE001 -- the request boundary: logged where it is told
            outcome.set_exception(error)

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        if future.cancelled():
            self._refuse(msg_id, Fault(CANCELLED, "The request was cancelled."))
            return
        match future.exception():
            case None:
                self._answer(msg_id, future.result())
            case Fault() as refusal:
                self._refuse(msg_id, refusal)
            case ReasonixError() as error:
                self._refuse(msg_id, fault_of(error))
            case bug:
                self._refuse(msg_id, self._internal(bug))

    def _answer(self, key: Any, result: Any) -> None:
        try:
            self._put({"jsonrpc": "2.0", "id": key, "result": self._plain(result)})
        except (TypeError, ValueError, AttributeError) as bug:
            # A result that no JSON can hold: still exactly one answer.
            self._refuse(key, self._internal(bug))

    def _check_handler_result(self, future: Any) -> None:
        if not future.cancelled() and (error := future.exception()) is not None:
            log.warning("a notification failed", exc_info=error)

    def _internal(self, bug: BaseException) -> Fault:
        log_id = f"{self._wired().instance}-{next(self._faults)}"
        log.error("request failed, %s", log_id, exc_info=bug)
        data = {"code": "internal", "logId": log_id}
        return Fault(INTERNAL_ERROR, "Reasonix failed inside; its log has the details.", data)

    def _refuse(self, key: Any, refusal: Fault) -> None:
        error = {"code": refusal.code, "message": str(refusal), "data": refusal.data}
        self._put({"jsonrpc": "2.0", "id": key, "error": error})

    def _plain(self, value: Any) -> Any:
        if attrs.has(cast("type[Any]", type(value))) or isinstance(value, list | tuple):
            return self._converter.unstructure(value)
        return value

    def _put(self, message: dict[str, Any]) -> None:
        if message.get("params", message) is None:
            del message["params"]
        self._wired().send(encode_frame(encode_body(message)))


def _is_id(key: Any) -> bool:
    return isinstance(key, int | str) and not isinstance(key, bool)
