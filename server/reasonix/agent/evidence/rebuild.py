"""What the user has told the agent to write anew, in so many words.

Only then may a file be replaced that nobody has read. The model's words never count.
"""

import re
from pathlib import Path

_SENTENCE = re.compile(r"(?<=[.!?])\s+|[\n;。!?;]+")
_REBUILD = re.compile(
    r"\b(?:rewrite|rebuild|recreate|regenerate|overwrite|redo)\b"
    r"|\b(?:replace|write|create|start)\b.*?\b(?:from scratch|anew|completely|entirely|wholly)\b"
    r"|\b(?:from scratch)\b"
    r"|重写|重建|覆盖|重新生成|从头写|从零",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(?:not|never|no|without|cannot|avoid|except|instead of|rather than|unless|nor)\b"
    r"|n['\u2019]t\b"
    r"|不|别|勿|禁止|避免|除了",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[??]\s*$|^\s*(?:should|shall|could|can|would|why|how|what|when)\b", re.I)
_TOKEN = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'|([^\s`\"',,、。()()]+)")


class Rebuild:
    """The paths that one message of the user names to be written anew."""

    def __init__(self, root: Path, text: str) -> None:
        self._named = frozenset(root / name for name in _named(text))

    def covers(self, path: Path) -> bool:
        """Whether the user named exactly this file, by its path from the root or in full."""
        return path in self._named


def _named(text: str) -> set[str]:
    found: set[str] = set()
    for sentence in _sentences(text):
        if _REBUILD.search(sentence) and not _NEGATED.search(sentence):
            for groups in _TOKEN.findall(sentence):
                token = next(group for group in groups if group)
                found.add(token.lstrip("@").rstrip(".:;!"))
    return found - {""}


def _sentences(text: str) -> list[str]:
    """Sentences that state something; a path keeps its dots."""
    kept: list[str] = []
    at = 0
    for end in [*_SENTENCE.finditer(text), None]:
        piece = text[at : end.end() if end else len(text)]
        at = end.end() if end else at
        if not _QUESTION.search(piece.strip()):
            kept.append(piece)
    return kept
