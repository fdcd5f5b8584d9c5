import json

import pytest

from fakes.cli import Terminal, parsed
from fakes.local_server import LLAMA_CPP, LM_STUDIO, OLLAMA, SILENCE, VLLM, Answers, LocalServer
from fakes.settings import Settings
from reasonix.cli import doctor, setup
from reasonix.cli.local_model import Offer
from reasonix.cli.model_server import (
    Candidate,
    ask_models,
    find_servers,
    key_headers,
    models_address,
)
from reasonix.config.schema import NetworkConfig

OFFERS: dict[str, tuple[Answers, tuple[Offer, ...]]] = {
    "Ollama": (
        OLLAMA,
        (
            # Loaded with so much; the other two by their settings and by what they can hold.
            Offer("qwen3:8b", 16384),
            Offer("gemma3:4b", 131072, vision=True, loads_less=True),
            Offer("tuned:latest", 32768),
        ),
    ),
    "LM Studio": (
        LM_STUDIO,
        (
            Offer("qwen2-vl-7b-instruct", 32768, vision=True, loads_less=True),
            Offer("granite-3.0-2b", 4096),
        ),
    ),
    "llama.cpp": (LLAMA_CPP, (Offer("gemma-3-4b-it.gguf", 12288, vision=True),)),
    "vLLM": (VLLM, (Offer("Qwen/Qwen3-8B", 40960),)),
}


def found(answers: Answers) -> tuple[tuple[Offer, ...], LocalServer]:
    with LocalServer(answers).serving() as server:
        candidate = Candidate("local", "Local", server.base_url)
        (one,) = find_servers([candidate], {})
    return one.offers, server


@pytest.mark.parametrize("name", OFFERS)
def test_each_server_tells_its_windows_in_its_own_way(name: str) -> None:
    answers, offers = OFFERS[name]
    told, server = found(answers)
    assert told == offers
    assert set(server.keys) == {None}


def test_a_list_that_tells_all_is_not_asked_further() -> None:
    assert found(VLLM)[1].asked == ["GET /v1/models"]


@pytest.mark.parametrize(
    "strange",
    [
        b"<html>",
        b"",
        {"data": [{"no": "id"}], "models": "none", "default_generation_settings": 3},
        {"data": [], "models": [], "default_generation_settings": {}},
        b" " * (5 * 1024 * 1024),
    ],
)
def test_strange_answers_cost_nothing_but_the_window(strange: object) -> None:
    listing = {"data": [{"id": "m"}]}
    told, _ = found({"GET /v1/models": listing, "*": strange})
    assert told == (Offer("m"),)


def test_a_server_that_hangs_on_the_details_still_lists_its_models() -> None:
    told, _ = found({"GET /v1/models": {"data": [{"id": "m"}]}, "GET /props": SILENCE})
    assert told == (Offer("m"),)


def test_a_server_that_hangs_is_left_out() -> None:
    with LocalServer({"*": SILENCE}).serving() as silent, LocalServer(VLLM).serving() as server:
        places = [Candidate(one.base_url, "x", one.base_url) for one in (silent, server)]
        (one,) = find_servers(places, {}, timeout_s=0.3)
    assert one.candidate.name == server.base_url


def test_a_server_that_is_sent_a_key_is_asked_for_the_list_alone() -> None:
    with LocalServer(OLLAMA).serving() as server:
        headers = key_headers("openai", "sk-1")
        answer = ask_models(f"{server.base_url}/models", headers, network=NetworkConfig(), env={})
    assert answer.outcome == "ok"
    assert server.asked == ["GET /v1/models"]
    assert server.keys == ["Bearer sk-1"]


@pytest.mark.parametrize(
    ("kind", "base", "models_url", "address"),
    [
        ("openai", "https://h/v1/", "", "https://h/v1/models"),
        ("responses", "https://h/v1", "", "https://h/v1/models"),
        ("anthropic", "https://h", "", "https://h/v1/models"),
        ("anthropic", "https://h/anthropic/v1", "", "https://h/anthropic/v1/models"),
        ("anthropic", "https://h", "https://l/list?x=1", "https://l/list?x=1"),
        ("openai", "https://h/v1", "https://l/list", "https://l/list"),
    ],
)
def test_the_list_of_models_has_its_address(
    kind: str, base: str, models_url: str, address: str
) -> None:
    assert models_address(kind, base, models_url) == address


def test_each_kind_shows_the_key_in_its_own_header() -> None:
    version = {"anthropic-version": "2023-06-01"}
    assert key_headers("openai", "k") == {"Authorization": "Bearer k"}
    assert key_headers("anthropic", "k") == {**version, "x-api-key": "k"}
    assert key_headers("anthropic", "k", bearer=True) == {**version, "Authorization": "Bearer k"}
    assert key_headers("anthropic", "") == version
    assert key_headers("openai", "") == {}


def set_up(settings: Settings, *words: str, urls: tuple[str, ...] = (), stdin: str = "") -> str:
    terminal = Terminal(settings.env, settings.root, stdin)
    places = tuple(Candidate("here", "Here", url) for url in urls)
    assert setup.carry_out(parsed(setup.add_arguments, *words), terminal.io, places) == 0
    return terminal.err


def test_setup_writes_window_and_eyes_and_warns_of_a_smaller_load(settings: Settings) -> None:
    with LocalServer(OLLAMA).serving() as server:
        err = set_up(settings, "--yes", "--model", "gemma3:4b", urls=(server.base_url,))
    (entry,) = settings.load().config.providers
    assert (entry.model, entry.context_window) == ("gemma3:4b", 131072)
    assert entry.vision_models == ("gemma3:4b",)
    assert "gemma3:4b can hold 131072 tokens, but this server may load it with fewer" in err
    with LocalServer(OLLAMA).serving() as server:
        assert "may load" not in set_up(settings, "--yes", "--base-url", server.base_url)


def test_setup_knows_the_other_protocols(settings: Settings) -> None:
    listing = {"data": [{"id": "claude-x", "type": "model", "max_input_tokens": 200000}]}
    with LocalServer({"GET /v1/models": listing}).serving() as server:
        base = server.base_url.removesuffix("/v1")
        flags = ("--yes", "--kind", "anthropic", "--base-url", f"{base}/v1/messages")
        set_up(settings, *flags, "--key-env", "K", "--name", "far", stdin="sk-2\n")
    assert server.asked == ["GET /v1/models"]
    assert server.keys == [None]
    (entry,) = settings.load().config.providers
    assert (entry.kind, entry.model, entry.context_window) == ("anthropic", "claude-x", 200000)


def test_setup_asks_the_models_url_that_is_configured(settings: Settings) -> None:
    with LocalServer({"GET /list": {"data": [{"id": "a"}, {"id": "b"}]}}).serving() as server:
        models_url = server.base_url.replace("/v1", "/list")
        settings.user(
            f'[[providers]]\nname = "mine"\nbase_url = "{server.base_url}"\nmodel = "a"\n'
            f'models_url = "{models_url}"\n'
        )
        set_up(settings, "--yes", "--base-url", server.base_url, "--model", "b")
    assert server.asked[0] == "GET /list"
    assert settings.load().config.providers[0].served == ("b", "a")


def doctored(settings: Settings) -> dict[str, str]:
    terminal = Terminal(settings.env, settings.root)
    doctor.carry_out(parsed(doctor.add_arguments, "--json"), terminal.io, ())
    return {one["name"]: one["server"] for one in json.loads(terminal.out)["providers"]}


def test_doctor_asks_configured_servers_of_this_machine_only(settings: Settings) -> None:
    with LocalServer(OLLAMA).serving() as server:
        settings.user(
            "\n".join(
                f'[[providers]]\nname = "{name}"\nbase_url = "{url}"\nmodel = "{model}"\n{more}'
                for name, url, model, more in (
                    ("good", server.base_url, "qwen3:8b", "context_window = 16384"),
                    ("wide", server.base_url, "qwen3:8b", "context_window = 40960"),
                    ("gone", server.base_url, "llama9", ""),
                    ("down", "http://127.0.0.1:1/v1", "m", ""),
                    ("far", "https://api.example.com/v1", "m", ""),
                )
            )
        )
        told = doctored(settings)
    assert told["good"] == "answers"
    assert told["wide"] == "qwen3:8b has a window of 16384 tokens, 40960 are configured"
    assert told["gone"] == "answers, but does not list llama9"
    assert told["down"].startswith("http://127.0.0.1:1/v1/models cannot be reached")
    assert told["far"] == ""
