"""From a model reference to the provider and the model that it names."""

import shlex

from msgspec import Struct

from reasonix.config.schema import Config, ProviderConfig
from reasonix.core.error import ConfigError
from reasonix.core.text import nearest


class ModelChoice(Struct, frozen=True):
    """One model of one provider, its override applied.

    `window` is None where the size is unknown or compaction is switched off (0).
    `max_output_tokens`: 0 automatic, above 0 a cap, below 0 left out of requests.
    `efforts` is the complete vocabulary where the config declares one, else empty. `vision`:
    whether the user marked the model as one that takes images.
    """

    ref: str
    provider: ProviderConfig
    model: str
    window: int | None
    max_output_tokens: int
    effort: str
    efforts: tuple[str, ...]
    reasoning_protocol: str = ""
    vision: bool = False


def resolve_model(config: Config, ref: str | None = None) -> ModelChoice:
    """Find the model that `ref` (default: `default_model`) names.

    `provider/model` is split at the first slash; else a provider's name stands for its default
    model; else the first provider that lists the bare name serves it. With neither `ref` nor
    `default_model`, the first provider's default model is taken.

    Raises:
        ConfigError: no_model where nothing is configured, unknown_model naming the nearest.
    """
    wanted = ref or config.default_model
    offered = [provider for provider in config.providers if provider.served]
    if not offered:
        raise ConfigError(
            "No model is configured. Run `reasonix setup`, or add a [[providers]] table with "
            "`name`, `base_url` and `model` to config.toml.",
            code="no_model",
        )
    if not wanted:
        return _choice(offered[0], offered[0].served[0])
    found = _find(offered, wanted)
    if found is None:
        raise ConfigError(_unknown(offered, wanted), code="unknown_model")
    return _choice(*found)


def model_refs(config: Config) -> tuple[str, ...]:
    """Every model on offer as `provider/model`, in the order of the configuration."""
    return tuple(f"{entry.name}/{model}" for entry in config.providers for model in entry.served)


def serves(config: Config, ref: str) -> bool:
    """Whether `ref` names a model that a configured provider offers."""
    offered = [provider for provider in config.providers if provider.served]
    return _find(offered, ref) is not None


def _find(offered: list[ProviderConfig], wanted: str) -> tuple[ProviderConfig, str] | None:
    head, slash, tail = wanted.partition("/")
    for provider in offered:
        if slash and provider.name == head and tail in provider.served:
            return provider, tail
    for provider in offered:
        if provider.name == wanted:
            return provider, provider.served[0]
    for provider in offered:
        # A bare model name may hold a slash of its own: "meta-llama/llama-3".
        if wanted in provider.served:
            return provider, wanted
    return None


def _choice(provider: ProviderConfig, model: str) -> ModelChoice:
    override = provider.model_overrides.get(model)
    window = provider.context_window
    cap = provider.max_output_tokens
    efforts = provider.supported_efforts
    effort = provider.effort or provider.default_effort
    protocol = provider.reasoning_protocol
    vision = provider.vision or model in provider.vision_models
    if override is not None:
        window = window if override.context_window is None else override.context_window
        cap = cap if override.max_output_tokens is None else override.max_output_tokens
        efforts = override.supported_efforts or efforts
        effort = override.default_effort or effort
        protocol = override.reasoning_protocol or protocol
        vision = vision if override.vision is None else override.vision
    if efforts and effort and effort not in efforts:
        effort = efforts[0]
    return ModelChoice(
        ref=f"{provider.name}/{model}",
        provider=provider,
        model=model,
        window=window or None,
        max_output_tokens=cap,
        effort=effort,
        efforts=efforts,
        reasoning_protocol=protocol,
        vision=vision,
    )


def _unknown(offered: list[ProviderConfig], wanted: str) -> str:
    names: list[str] = []
    for provider in offered:
        names.append(provider.name)
        names.extend(provider.served)
        names.extend(f"{provider.name}/{model}" for model in provider.served)
    more = _addition(offered, wanted)
    near = nearest(wanted, list(dict.fromkeys(names)))
    if near:
        return f"No model is called {wanted!r}. Nearest: {', '.join(near)}.{more}"
    refs = [f"{provider.name}/{model}" for provider in offered for model in provider.served]
    rest = f" and {len(refs) - 8} more" if len(refs) > 8 else ""
    return f"No model is called {wanted!r}. Configured: {', '.join(refs[:8])}{rest}.{more}"


def _addition(offered: list[ProviderConfig], wanted: str) -> str:
    """How to add a model that a server may have, though the configuration doesn't name it."""
    if all(provider.kind == "replay" for provider in offered):
        return ""
    head, slash, tail = wanted.partition("/")
    known = slash and any(provider.name == head for provider in offered)
    name = tail if known else wanted
    if not name or not name.isprintable():
        return ""
    return f" If your server has it, add it: `reasonix setup --model {shlex.quote(name)}`."
