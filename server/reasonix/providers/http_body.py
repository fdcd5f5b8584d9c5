"""The body of a streamed reply, read piece by piece, with the failures of the wire named."""

import asyncio

import httpx

from reasonix.core.error import ProviderError, StreamBroken
from reasonix.core.limits import ERROR_BODY_BYTES

TAIL_S = 3.0
"""How long to wait for usage or the end mark once the reply is whole."""

CLOSE_S = 0.25
"""How long to wait for the end of the body after the end mark, so that the connection can be
used again."""

ERROR_BODY_S = 10.0


class ReplyBody:
    """Reads one response. `read` may be cancelled; close the response yourself."""

    def __init__(self, response: httpx.Response) -> None:
        self._pieces = response.aiter_bytes()
        self.received = 0

    async def read(self, *, whole: bool) -> bytes | None:
        """The next bytes, None at the end. `whole`: the reply is complete, so do not insist.

        Raises:
            StreamBroken: The connection was cut or went silent before the reply was whole.
            ProviderError: The body's compression is broken.
        """
        if whole:
            return await self._read_within(TAIL_S)
        try:
            piece = await anext(self._pieces, None)
        except httpx.ReadTimeout as error:
            raise StreamBroken("The model's reply went silent.") from error
        except httpx.DecodingError as error:
            raise ProviderError(f"The endpoint's reply cannot be unpacked: {error}.") from error
        except httpx.HTTPError as error:
            raise StreamBroken("The connection was cut in the middle of the reply.") from error
        self.received += len(piece or b"")
        return piece

    async def drain(self) -> None:
        """Read on to the end of the body, briefly."""
        try:
            async with asyncio.timeout(CLOSE_S):
                while await anext(self._pieces, None) is not None:
                    pass
        except (TimeoutError, httpx.HTTPError):
            pass

    async def _read_within(self, seconds: float) -> bytes | None:
        try:
            async with asyncio.timeout(seconds):
                return await anext(self._pieces, None)
        except (TimeoutError, httpx.HTTPError):
            return None


async def error_body(response: httpx.Response) -> bytes:
    """The first bytes of an error page, as far as they come in time."""
    head = bytearray()
    try:
        async with asyncio.timeout(ERROR_BODY_S):
            async for piece in response.aiter_bytes():
                head += piece
                if len(head) >= ERROR_BODY_BYTES:
                    break
    except (TimeoutError, httpx.HTTPError):
        pass
    return bytes(head[:ERROR_BODY_BYTES])
