import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from fakes.command import configure
from fakes.model_server import ModelServer, calls_reply, error_reply, text_reply
from fakes.picture import png
from reasonix.app import App, Launch, open_app
from reasonix.config.model_ref import resolve_model
from reasonix.core.event import TurnResult
from reasonix.core.message import Image
from reasonix.host.controller import Controller
from reasonix.host.option import SessionOptions


@pytest.fixture
async def server(reasonix_home: Path) -> AsyncGenerator[ModelServer]:
    async with ModelServer() as running:
        configure(reasonix_home, running.base_url)
        yield running


@pytest.fixture
async def app(child_env: dict[str, str]) -> AsyncGenerator[App]:
    async with open_app(Launch(env=child_env)) as opened:
        yield opened


@pytest.fixture
def root(base: Path) -> Path:
    (base / "work").mkdir()
    return base / "work"


async def turn(controller: Controller, text: str = "go", *images: Image) -> TurnResult:
    return await controller.finished(controller.start(text, images=images))


def edit(reasonix_home: Path, change: Callable[[str], str]) -> None:
    config = reasonix_home / "config.toml"
    config.write_text(change(config.read_text()))


async def test_a_changed_entry_counts_from_the_next_turn_of_a_live_session(
    server: ModelServer, app: App, root: Path, reasonix_home: Path
) -> None:
    server.replies += [text_reply("one"), text_reply("two"), text_reply("three")]
    controller = await app.host.new(root, SessionOptions(headless=True))
    assert (await turn(controller)).text == "one"
    edit(reasonix_home, lambda text: text + "\nmax_output_tokens = 777\n")
    (reasonix_home / ".env").write_text("FAKE_API_KEY=sk-new\n")
    assert (await turn(controller)).text == "two"
    edit(reasonix_home, lambda text: text + "\n[agent\n")
    assert (await turn(controller)).text == "three"
    first, second, third = (json.loads(body) for body in server.bodies)
    assert 777 not in first.values()
    assert 777 in second.values()
    assert 777 in third.values()
    keys = [request.headers["authorization"] for request in server.requests]
    assert keys == ["Bearer sk-test", "Bearer sk-new", "Bearer sk-new"]
    assert second["messages"][: len(first["messages"])] == first["messages"]


async def test_a_key_put_right_is_taken_without_a_restart(
    server: ModelServer, app: App, root: Path, reasonix_home: Path
) -> None:
    server.replies += [error_reply(401, {"message": "no"}), text_reply("fine")]
    controller = await app.host.new(root, SessionOptions(headless=True))
    refused = await turn(controller)
    assert refused.error is not None
    assert refused.error.code == "auth"
    assert "FAKE_API_KEY" in refused.error.message
    (reasonix_home / ".env").write_text("FAKE_API_KEY=sk-right\n")
    assert (await turn(controller)).text == "fine"
    assert server.requests[-1].headers["authorization"] == "Bearer sk-right"


async def test_pictures_need_the_mark_and_get_it_without_a_restart(
    server: ModelServer, app: App, root: Path, reasonix_home: Path
) -> None:
    server.replies += [
        calls_reply(("view_image", {"path": "a.png"})),
        text_reply("blind"),
        text_reply("a red dot"),
        calls_reply(("view_image", {"path": "a.png"})),
        text_reply("black"),
    ]
    (root / "a.png").write_bytes(png())
    picture = Image(url="https://example.com/a.png")
    controller = await app.host.new(root, SessionOptions(headless=True))
    refused = await turn(controller, "look", picture)
    assert refused.error is not None
    assert (refused.outcome, refused.error.code) == ("failed", "usage")
    assert refused.error.message == (
        "fake/m is not marked as a model that takes images. If it does, add vision_models = "
        '["m"] to its [[providers]] entry.'
    )
    assert server.bodies == []
    assert (await turn(controller)).text == "blind"
    edit(reasonix_home, lambda text: text + '\nvision_models = ["m"]\n')
    assert (await turn(controller, "look", picture)).text == "a red dot"
    assert b"https://example.com/a.png" in server.bodies[-1]
    assert (await turn(controller)).text == "black"
    # The refused task never became a part of the history.
    assert server.bodies[-1].count(b'"look"') == 1
    assert server.bodies[-1].count(b"data:image/png") == 1


async def test_a_model_taken_out_of_the_configuration_ends_the_turn_with_its_name(
    server: ModelServer, app: App, root: Path, reasonix_home: Path
) -> None:
    server.replies.append(text_reply("one"))
    controller = await app.host.new(root, SessionOptions(headless=True))
    await turn(controller)
    edit(reasonix_home, lambda text: text.replace('"m", ', "").replace("fake/m", "fake"))
    gone = await turn(controller)
    assert gone.error is not None
    assert gone.error.code == "unknown_model"
    assert "fake/m" in gone.error.message


async def test_every_setting_of_a_model_reaches_its_endpoint(
    app: App, root: Path, reasonix_home: Path
) -> None:
    (reasonix_home / "config.toml").write_text(
        '[[providers]]\nname = "p"\nkind = "responses"\nbase_url = "https://h/v1"\n'
        'request_url = "https://h/x"\nmodels_url = "https://h/list"\nmodels = ["a", "b"]\n'
        'api_key_env = "K"\nauth_header = true\nheaders = { X = "1" }\n'
        "extra_body = { top_k = 4 }\ncontext_window = 1000\nmax_output_tokens = -1\n"
        'temperature = 0.5\nthinking = "enabled"\nresponses_mode = "stateful"\n'
        'reasoning_protocol = "glm"\nsupported_efforts = ["low", "max"]\ndefault_effort = "max"\n'
        'strip_chain_of_thought = true\nweb_search = true\nvision_detail = "low"\n'
        'price = { input = 1.0, output = 2.0, cache_hit = 0.5, currency = "CNY" }\n'
        "prices = { b = { input = 3.0 } }\n"
        "[providers.model_overrides.b]\nvision = true\ncontext_window = 50\n"
        'max_output_tokens = 9\nreasoning_protocol = "openai"\nsupported_efforts = ["high"]\n'
    )
    (reasonix_home / ".env").write_text("K=sk-k\n")
    config = app.config_for(root).config
    a, b = (app.endpoint(resolve_model(config, m), config, root, None) for m in ("a", "b"))
    assert (a.name, a.kind, a.model, a.key, a.key_variable) == ("p", "responses", "a", "sk-k", "K")
    assert a.key_file == str(reasonix_home / ".env")
    assert (a.base_url, a.request_url, a.models_url) == (
        *("https://h/v1", "https://h/x", "https://h/list"),
    )
    assert (a.auth_header, dict(a.headers), dict(a.extra_body)) == (True, {"X": "1"}, {"top_k": 4})
    assert (a.window, a.max_output_tokens, a.temperature) == (1000, -1, 0.5)
    assert (a.thinking, a.responses_mode, a.reasoning_protocol) == ("enabled", "stateful", "glm")
    assert (a.supported_efforts, a.effort) == (("low", "max"), "max")
    assert (a.strip_chain_of_thought, a.web_search) == (True, True)
    assert (a.vision, a.vision_detail) == (False, "low")
    prices = {model: (p.input, p.output, p.cache_hit, p.currency) for model, p in a.prices.items()}
    assert prices == {"": (1.0, 2.0, 0.5, "CNY"), "b": (3.0, 0.0, 0.0, "USD")}
    assert a.placeholders == {"root": str(root)}
    assert (b.window, b.max_output_tokens, b.vision) == (50, 9, True)
    assert (b.reasoning_protocol, b.supported_efforts, b.effort) == ("openai", ("high",), "high")
    assert app.endpoint(resolve_model(config, "a"), config, root, "low").effort == "low"


async def test_what_a_model_leaves_open_is_left_to_the_provider(
    server: ModelServer, app: App, root: Path
) -> None:
    config = app.config_for(root).config
    plain = app.endpoint(resolve_model(config, "m"), config, root, None)
    assert (plain.window, plain.max_output_tokens, plain.effort) == (None, 0, None)
    assert (plain.responses_mode, plain.vision_detail, plain.web_search) == ("", "", None)
    assert (plain.prices, plain.temperature) == ({}, 0.0)
