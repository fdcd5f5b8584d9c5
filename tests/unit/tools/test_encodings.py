"""What a change of one line does to a file in another encoding than UTF-8: that line, no more."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.ports import Committed
from reasonix.core.tool import ToolResult
from reasonix.tools.disk import DiskFileSystem
from reasonix.tools.encoding import decode, encode
from reasonix.tools.lock import PathLocks

FRENCH = ("L'élève a été reçu à l'école.", "naïveté")
GERMAN = ("Die Größe ist schlüssig geändert.", "Straße")
CZECH = ("Příliš žluťoučký kůň úpěl ďábelské ódy.", "křišťál")
RUSSIAN = ("Съешь ещё этих мягких французских булок.", "строка")
GREEK = ("Διάβασε πρώτη φορά δύο άλλες λέξεις εδώ", "γλώσσα")
TURKISH = ("Önce dili seçmeli, şifre değişti, görüş güncellendi.", "güneş")
JAPANESE = ("設定ファイルの読み込みに失敗しました。ソース表示", "能力")
CHINESE = ("用户首先需要选择语言、然后读取配置文件。", "中文")
TAIWANESE = ("使用者首先需要選擇語言、然後讀取設定檔。功能許蓋", "繁體")
KOREAN = ("사용자는 먼저 언어를 선택해야 합니다.", "한글")
QUOTES = ("The “smart” settings of „page 5“ … are kept — all.", "“it”")


class Kind(NamedTuple):
    """codec: what the file is written in. words: a line of the language, and a word for the edit.

    told: the text that the model reads is the real one.
    """

    codec: str
    words: tuple[str, str]
    mark: bytes = b""
    spoilt: bytes = b""
    told: bool = True


KINDS = {
    "latin-1": Kind("iso8859-1", FRENCH),
    "latin-1, german": Kind("iso8859-1", GERMAN),
    "cp1252": Kind("cp1252", QUOTES),
    "cp1250": Kind("cp1250", CZECH),
    "iso8859-2": Kind("iso8859-2", CZECH),
    "cp1251": Kind("cp1251", RUSSIAN),
    "koi8-r": Kind("koi8-r", RUSSIAN),
    "cp1253": Kind("cp1253", GREEK),
    "cp1254": Kind("cp1254", TURKISH),
    "shift_jis": Kind("shift_jis", JAPANESE),
    "cp932": Kind("cp932", JAPANESE),
    "euc_jp": Kind("euc_jp", JAPANESE),
    "gbk": Kind("gbk", CHINESE),
    "gb18030": Kind("gb18030", (CHINESE[0] + "\U00020087", CHINESE[1])),
    "big5": Kind("big5", TAIWANESE),
    "euc_kr": Kind("euc_kr", KOREAN),
    "cp949": Kind("cp949", (KOREAN[0] + "뷁", KOREAN[1])),
    "utf-8": Kind("utf-8", JAPANESE),
    "utf-8 marked": Kind("utf-8", GERMAN, b"\xef\xbb\xbf"),
    "utf-8 spoilt": Kind("utf-8", RUSSIAN, spoilt=b"\xff \xc3\x28 \xe2\x82", told=False),
    "ascii spoilt": Kind("ascii", ("plain text", "plain"), spoilt=b"\x81\xff\x8d", told=False),
    "utf-16-le marked": Kind("utf-16-le", FRENCH, b"\xff\xfe"),
    "utf-16-be marked": Kind("utf-16-be", JAPANESE, b"\xfe\xff"),
    "utf-16-le": Kind("utf-16-le", FRENCH),
    "utf-16-be": Kind("utf-16-be", FRENCH),
    "utf-16-le, chinese": Kind("utf-16-le", CHINESE),
    "utf-16-be, russian": Kind("utf-16-be", RUSSIAN),
    "utf-16-le spoilt": Kind("utf-16-le", FRENCH, b"\xff\xfe", b"\x3d\xd8", told=False),
    "utf-32-le marked": Kind("utf-32-le", GERMAN, b"\xff\xfe\0\0"),
    "utf-32-be marked": Kind("utf-32-be", CHINESE, b"\0\0\xfe\xff"),
}

ENDINGS = {
    "lf": ("\n", "\n", "\n"),
    "crlf": ("\r\n", "\r\n", "\r\n"),
    "cr": ("\r", "\r", "\r"),
    "mixed": ("\r\n", "\n", "\r"),
    "no newline at the end": ("\n", "\n", ""),
}


class Sheet:
    """A file with one line to be changed, TARGET, and the bytes around it."""

    def __init__(self, kind: Kind, endings: tuple[str, str, str]) -> None:
        line, word = kind.words
        first, second, last = endings
        self.old, self.new = "value = 1", f"value = '{word}'"
        before = f"# {line}{first}"
        after = f"# {line}\x0c {line}{first}# {line[:9]}{last}"
        self.before = kind.mark + before.encode(kind.codec) + kind.spoilt
        self.before += first.encode(kind.codec)
        self.target = f"{self.old}{second}".encode(kind.codec)
        self.changed = f"{self.new}{second}".encode(kind.codec)
        self.after = after.encode(kind.codec)
        self.raw = self.before + self.target + self.after
        self.text = f"{before}{first}{self.old}{second}{after}"


async def by_edit(bench: Workbench, sheet: Sheet) -> tuple[ToolResult, bytes]:
    result = await bench.call("edit_file", path="a.txt", old_string=sheet.old, new_string=sheet.new)
    return result, sheet.changed


async def by_several_edits(bench: Workbench, sheet: Sheet) -> tuple[ToolResult, bytes]:
    edits = [
        {"old_string": sheet.old, "new_string": "value = 2"},
        {"old_string": "value = 2", "new_string": sheet.new},
    ]
    return await bench.call("multi_edit", path="a.txt", edits=edits), sheet.changed


async def by_deletion(bench: Workbench, sheet: Sheet) -> tuple[ToolResult, bytes]:
    result = await bench.call(
        "delete_range", path="a.txt", start_anchor=sheet.old, end_anchor=sheet.old
    )
    return result, b""


async def by_writing(bench: Workbench, sheet: Sheet) -> tuple[ToolResult, bytes]:
    text = sheet.text.replace(sheet.old, sheet.new).replace("\r\n", "\n").replace("\r", "\n")
    return await bench.call("write_file", path="a.txt", content=text), sheet.changed


Writer = Callable[[Workbench, Sheet], Awaitable[tuple[ToolResult, bytes]]]
WRITERS: dict[str, Writer] = {
    "edit_file": by_edit,
    "multi_edit": by_several_edits,
    "delete_range": by_deletion,
    "write_file": by_writing,
}


# Nobody can write out a text that isn't one.
CHANGES = [
    (writer, name)
    for writer in WRITERS
    for name, kind in KINDS.items()
    if writer != "write_file" or kind.told
]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("writer", "name"), CHANGES)
async def test_no_byte_outside_the_change_is_another(
    bench: Workbench, writer: str, name: str, ending: str
) -> None:
    kind = KINDS[name]
    sheet = Sheet(kind, ENDINGS[ending])
    path = bench.put("a.txt", sheet.raw)
    path.chmod(0o640)
    await bench.call("read_file", path="a.txt")
    result, changed = await WRITERS[writer](bench, sheet)
    assert result.code is None, result.content
    assert path.read_bytes() == sheet.before + changed + sheet.after
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.told])
async def test_the_model_reads_the_real_text_whole_and_in_a_window(
    files: DiskFileSystem, tmp_path: Path, name: str
) -> None:
    kind = KINDS[name]
    sheet = Sheet(kind, ENDINGS["crlf"])
    path = tmp_path / "a.txt"
    path.write_bytes(sheet.raw)
    assert (await files.read(path)).text == sheet.text
    fresh = DiskFileSystem(PathLocks())
    window = await fresh.window(path, 1, 9, 0)
    assert "".join(getattr(window, "lines", ())) == sheet.text


@pytest.mark.parametrize("name", KINDS)
async def test_a_file_keeps_its_encoding_however_little_is_left_of_its_text(
    files: DiskFileSystem, tmp_path: Path, name: str
) -> None:
    kind = KINDS[name]
    sheet = Sheet(kind, ENDINGS["lf"])
    path = tmp_path / "a.txt"
    path.write_bytes(sheet.raw)
    base = await files.read(path)
    for text in ("plain\n", f"plain {kind.words[1]}\n", kind.words[1][:1], "", sheet.new):
        now = await files.read(path)
        assert isinstance(await files.commit(path, now, text), Committed)
        after = await files.read(path)
        assert (after.text, after.encoding, after.bom) == (text, base.encoding, base.bom)
    assert path.read_bytes() == kind.mark + sheet.new.encode(kind.codec)


async def test_another_program_may_change_the_file_without_its_encoding_being_told_anew(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(f"{GREEK[0]}\n".encode("cp1253"))
    await files.read(path)
    path.write_bytes("ή\n".encode("cp1253"))
    assert (await files.read(path)).text == "ή\n"
    path.write_text("now in UTF-8: ä\n")
    assert (await files.read(path)).encoding == "utf-8"


@pytest.mark.parametrize(
    ("codec", "words", "char", "named"),
    [
        ("iso8859-1", FRENCH, "€", "'€' (U+20AC)"),
        ("cp1252", QUOTES, "→", "'→' (U+2192)"),
        ("cp932", JAPANESE, "\U0001f600", "(U+1F600)"),
        ("euc_jp", JAPANESE, "\xa5", "(U+00A5)"),
        ("gbk", CHINESE, "\U0001f600", "(U+1F600)"),
        ("big5", TAIWANESE, "é", "'é' (U+00E9)"),
        ("euc_kr", KOREAN, "é", "'é' (U+00E9)"),
    ],
)
async def test_a_character_that_the_encoding_lacks_is_named_and_nothing_is_written(
    bench: Workbench, codec: str, words: tuple[str, str], char: str, named: str
) -> None:
    raw = f"{words[0]}\nvalue\n".encode(codec)
    path = bench.put("a.txt", raw)
    await bench.call("read_file", path="a.txt")
    result = await bench.call("edit_file", path="a.txt", old_string="value", new_string=char)
    assert result.code == "invalid_arguments"
    found = decode(raw)
    assert found is not None
    for part in (named, found.encoding, "Nothing was written"):
        assert part in result.content
    assert path.read_bytes() == raw


@pytest.mark.parametrize(
    ("raw", "codec", "text"),
    [
        (
            b"# -*- coding: koi8-r -*-\n# \xf4\xc5\xcb\n",
            "koi8-r",
            "# -*- coding: koi8-r -*-\n# Тек\n",
        ),
        (b'<?xml version="1.0" encoding="ISO-8859-15"?>\n<p>\xa4</p>\n', "iso8859-15", None),
        (b"#!/bin/sh\n# vim: set fileencoding=cp1250 :\n# \xb9\n", "cp1250", None),
        (b'<html><head>\n\n<meta charset="windows-1251">\n\xe4\n', "cp1251", None),
        (b"# coding: latin-1\nplain = 1\n", "iso8859-1", None),
        (b"# coding: utf-8\n\xe9\n", "utf-8", "# coding: utf-8\n\udce9\n"),
        (b"# coding: no-such-thing\n\xe9t\xe9\n", "iso8859-1", None),
        (b"# coding: utf-16\nplain\n", "utf-8", None),
        (b"# coding: rot13\nplain\n", "utf-8", None),
        (b"# coding: latin-1\n\xc3\xa9\n", "utf-8", "# coding: latin-1\né\n"),
        (b"encoding = latin-1 in prose\nplain\n", "utf-8", None),
        (b"caf\xe9\n", "iso8859-1", "café\n"),
        (b"\x80 and \x81\n" * 3, "utf-8", None),
        (b"\xff\x01\x02\xfe\x03\n", "utf-8", None),
    ],
)
def test_what_a_file_says_of_itself_counts_where_its_bytes_agree(
    raw: bytes, codec: str, text: str | None
) -> None:
    found = decode(raw)
    assert found is not None
    assert (found.encoding, found.bom) == (codec, False)
    assert found.text == (raw.decode(codec, "surrogateescape") if text is None else text)
    assert encode(found.text, found.encoding, bom=False) == raw


@pytest.mark.parametrize(
    "raw",
    [
        b"\x7fELF\0\0\0",
        b"PK\3\4\x14\0\0\0\x08\0",
        b"abc\0def\n",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        bytes(range(256)),
        b"".join(n.to_bytes(2, "little") for n in range(1, 400)),
        b"\xff\xfeo\0d\0d",
    ],
)
def test_what_is_no_text_in_any_encoding_is_binary(raw: bytes) -> None:
    assert decode(raw) is None


async def test_a_pair_of_surrogates_that_is_half_is_refused_in_any_encoding(
    files: DiskFileSystem, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(f"{JAPANESE[0]}\n".encode("cp932"))
    base = await files.read(path)
    with pytest.raises(ToolFault, match="half of a surrogate pair"):
        await files.commit(path, base, "\ud800")


@pytest.fixture
def files() -> DiskFileSystem:
    return DiskFileSystem(PathLocks())
