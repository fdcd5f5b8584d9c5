"""Ids of calls that another vendor gave, where this one would refuse them."""

import hashlib

_NINE = 9
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_DIGEST_CHARS = 12


def fitting_id(call_id: str, most: int) -> str:
    """The id, or one made of it, with letters, digits, _ and - only and at most `most` of them.

    Depends on the id alone, so a call and its result stay a pair, in every request.
    """
    found = "".join(map(allowed_char, call_id))
    if found == call_id and 0 < len(found) <= most:
        return found
    return f"{found[: most - _DIGEST_CHARS - 1]}_{_digest(call_id).hex()[:_DIGEST_CHARS]}"


def nine_chars(call_id: str) -> str:
    """The id, or one made of it, that is nine letters or digits."""
    if len(call_id) == _NINE and call_id.isascii() and call_id.isalnum():
        return call_id
    number = int.from_bytes(_digest(call_id)[:8], "big")
    chars: list[str] = []
    for _ in range(_NINE):
        number, digit = divmod(number, len(_ALPHABET))
        chars.append(_ALPHABET[digit])
    return "".join(chars)


def allowed_char(char: str) -> str:
    """The character, or _ where names and ids may not hold it."""
    return char if char.isascii() and (char.isalnum() or char in "_-") else "_"


def _digest(call_id: str) -> bytes:
    return hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).digest()
