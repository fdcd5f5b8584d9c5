import base64
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from fakes.picture import gif, jpeg, png, webp_extended, webp_lossless, webp_lossy
from fakes.workbench import Workbench
from reasonix.core.error import ToolFault
from reasonix.core.limits import IMAGE_BYTES
from reasonix.core.tool import Call, Effect, ToolResult
from reasonix.tools.picture import read_picture
from reasonix.tools.view_image import view_image

PICTURES: dict[str, tuple[Callable[[int, int], bytes], str]] = {
    "png": (png, "image/png"),
    "jpeg": (jpeg, "image/jpeg"),
    "progressive": (lambda w, h: jpeg(w, h, frame=0xC2), "image/jpeg"),
    "filled": (lambda w, h: jpeg(w, h, fill=b"\xff\xff"), "image/jpeg"),
    "gif": (gif, "image/gif"),
    "lossy": (webp_lossy, "image/webp"),
    "lossless": (webp_lossless, "image/webp"),
    "extended": (webp_extended, "image/webp"),
}


async def view(bench: Workbench, path: str, blind: str = "") -> ToolResult:
    tool = view_image(bench.roots, lambda: blind)
    call = Call("c1", lambda _: None)
    resolved = tool.resolve(msgspec.json.encode({"path": path}).decode(), call)
    assert (resolved.effect, resolved.read_only) == (Effect.READ, True)
    return await (await resolved.prepare()).run()


async def fault(bench: Workbench, path: str, blind: str = "") -> ToolFault:
    with pytest.raises(ToolFault) as caught:
        await view(bench, path, blind)
    return caught.value


@pytest.mark.parametrize("kind", PICTURES)
async def test_a_picture_comes_whole_with_its_format_and_size(bench: Workbench, kind: str) -> None:
    make, media_type = PICTURES[kind]
    raw = make(640, 481)
    bench.put("shots/one.dat", raw)
    result = await view(bench, "shots/one.dat")
    (image,) = result.images
    assert (image.media_type, image.url, image.file_id) == (media_type, None, None)
    assert base64.b64decode(image.data or "") == raw
    name = {"jpeg": "JPEG", "webp": "WebP"}.get(media_type[6:], media_type[6:].upper())
    assert result.content == f"shots/one.dat: {name}, 640 x 481 pixels, {len(raw)} bytes."


@pytest.mark.parametrize("kind", PICTURES)
def test_a_picture_cut_anywhere_is_whole_enough_or_a_clear_fault(tmp_path: Path, kind: str) -> None:
    raw = PICTURES[kind][0](640, 480)
    file = tmp_path / "x"
    for size in range(len(raw)):
        file.write_bytes(raw[:size])
        try:
            found = read_picture(file, "x")
        except ToolFault as error:
            assert error.code == "unavailable"
        else:
            assert (found.width, found.height) == (640, 480)


@pytest.mark.parametrize("content", [b"", b"hello", b"<svg></svg>", b"BM123456"])
async def test_what_is_no_picture_is_refused_whatever_its_name(
    bench: Workbench, content: bytes
) -> None:
    bench.put("a.png", content)
    error = await fault(bench, "a.png")
    assert error.code == "unavailable"
    assert str(error) == "a.png is not a picture: PNG, JPEG, GIF and WebP can be viewed."


@pytest.mark.parametrize("make", [png, gif, webp_lossy])
async def test_a_picture_without_an_area_is_damaged(
    bench: Workbench, make: Callable[[int, int], bytes]
) -> None:
    bench.put("a", make(0, 5))
    assert "cut or damaged" in str(await fault(bench, "a"))
    bench.put("a", b"\x89PNG\r\n\x1a\n" + b"x" * 40)
    assert "cut or damaged" in str(await fault(bench, "a"))


async def test_too_many_bytes_or_pixels_are_refused_with_the_numbers(bench: Workbench) -> None:
    bench.put("big.png", png() + b"\0" * IMAGE_BYTES)
    error = await fault(bench, "big.png")
    assert str(error).startswith("big.png has ")
    assert f"at most {IMAGE_BYTES} can be viewed. Make a smaller copy." in str(error)
    bench.put("full.png", png(2, 3).ljust(IMAGE_BYTES, b"\0"))
    assert (await view(bench, "full.png")).images
    bench.put("wide.gif", gif(8000, 5001))
    error = await fault(bench, "wide.gif")
    assert "8000 x 5001 pixels; at most 40 million" in str(error)
    bench.put("wide.gif", gif(8000, 5000))
    assert (await view(bench, "wide.gif")).images


async def test_a_path_that_is_no_file_is_said_so(bench: Workbench) -> None:
    assert (await fault(bench, "none.png")).code == "not_found"
    (bench.root / "folder").mkdir()
    assert "is a directory" in str(await fault(bench, "folder"))
    os.mkfifo(bench.root / "pipe")
    assert "named pipe" in str(await fault(bench, "pipe"))


async def test_what_may_not_be_read_may_not_be_viewed(base: Path) -> None:
    bench = Workbench(base, forbid_read=(base / "project" / "private",))
    bench.put("private/a.png", png())
    assert (await fault(bench, "private/a.png")).code == "denied"


async def test_a_model_that_does_not_see_is_told_so_before_the_file_is_read(
    bench: Workbench,
) -> None:
    error = await fault(bench, "none.png", blind="a/b is not marked.")
    assert error.for_model() == "unavailable: a/b is not marked."


async def test_an_unknown_argument_is_named(bench: Workbench) -> None:
    tool = view_image(bench.roots, lambda: "")
    with pytest.raises(ToolFault, match="zoom"):
        tool.resolve('{"path": "a", "zoom": 2}', Call("c1", lambda _: None))
