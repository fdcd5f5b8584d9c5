from pathlib import Path

from fakes.editor import Editor

CONFIG = """\
default_model = "deep"

[[providers]]
name = "deep"
base_url = "https://api.deepseek.com/v1"
models = ["pro", "flash"]
context_window = 1000000

[providers.model_overrides.pro]
vision = true
context_window = 5000
supported_efforts = ["a", "b"]

[[providers]]
name = "near"
kind = "anthropic"
base_url = "http://127.0.0.1:1"
model = "m"
vision = true

[[providers]]
name = "odd"
base_url = "http://127.0.0.1:1"
reasoning_protocol = "no-such"
model = "m"
"""


async def test_models_are_listed_with_their_efforts_eyes_and_windows(
    child_env: dict[str, str], base: Path
) -> None:
    (base / "reasonix" / "config.toml").write_text(CONFIG)
    async with Editor(child_env, base) as editor:
        await editor.initialize()
        listed = (await editor.command("model.list"))["models"]
    assert listed == [
        {
            "ref": "deep/pro",
            "title": "pro",
            "efforts": ["a", "b"],
            "default": True,
            "vision": True,
            "context": 5000,
        },
        {
            "ref": "deep/flash",
            "title": "flash",
            "efforts": ["none", "low", "high", "max"],
            "default": False,
            "vision": False,
            "context": 1000000,
        },
        {
            "ref": "near/m",
            "title": "m",
            "efforts": ["none", "enabled"],
            "default": False,
            "vision": True,
        },
        {"ref": "odd/m", "title": "m", "efforts": [], "default": False, "vision": False},
    ]
