"""Every configuration key that has a type: one struct per table, snake_case as in TOML.

A field's default is the product's default. What each key means is told in `reference.py`;
which keys don't act yet, and known keys without a type, in `dormant.py`.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

PRESETS = ("read-only", "workspace-write", "danger-full-access")
"""Permission presets, strictest first."""

MODES = ("deny", "ask", "allow")
"""Values of [permissions].mode, strictest first."""

Preset = Literal["read-only", "workspace-write", "danger-full-access"]
Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
OutputCap = Annotated[int, Meta(ge=-1_000_000_000, le=1_000_000_000)]
Seconds = Annotated[int, Meta(ge=0, le=86400)]
Temperature = Annotated[float, Meta(ge=0, le=2)]
Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[^/\s]+$")]


def preset_of(name: str) -> Preset | None:
    """The preset that a current or an old name stands for; None for an unknown name.

    No old name stands for full access.
    """
    match name:
        case "read-only" | "workspace-write" | "danger-full-access":
            return name
        case "ask" | "plan":
            return "read-only"
        case "auto" | "yolo" | "acceptEdits" | "bypassPermissions":
            return "workspace-write"
        case _:
            return None


class Table(Struct, frozen=True, kw_only=True):
    """The base of every table."""


class UiConfig(Table, frozen=True):
    """[ui]."""

    theme: Literal["auto", "dark", "light"] = "auto"
    shortcut_layout: str = ""
    cursor_shape: str = "bar"
    show_turn_usage: bool = True
    show_reasoning: bool = False


class AgentConfig(Table, frozen=True):
    """[agent]. After loading, `system_prompt_file` is absolute or empty."""

    system_prompt: str = ""
    system_prompt_file: str = ""
    temperature: Temperature = 0.0
    reasoning_language: Literal["auto", "zh", "en"] = "auto"
    compact_ratio: Annotated[float, Meta(ge=0.3, le=0.85)] = 0.8
    planner_model: str = ""
    subagent_model: str = ""
    subagent_effort: str = ""
    subagent_models: dict[str, str] = {}
    subagent_efforts: dict[str, str] = {}
    plan_mode_read_only_commands: tuple[str, ...] = ()


class Price(Table, frozen=True):
    """Money per million tokens."""

    cache_hit: Annotated[float, Meta(ge=0)] = 0.0
    input: Annotated[float, Meta(ge=0)] = 0.0
    output: Annotated[float, Meta(ge=0)] = 0.0
    currency: str = "USD"


class ModelOverride(Table, frozen=True):
    """What differs for one model of a provider; None and empty leave the provider's value."""

    context_window: Count | None = None
    max_output_tokens: OutputCap | None = None
    reasoning_protocol: str = ""
    supported_efforts: tuple[str, ...] = ()
    default_effort: str = ""
    vision: bool | None = None


class ProviderConfig(Table, frozen=True):
    """[[providers]]: one endpoint. After loading, `cassette` is absolute or empty."""

    name: Name
    kind: Literal["openai", "anthropic", "responses", "replay"] = "openai"
    base_url: str = ""
    request_url: str = ""
    chat_url: str = ""
    models_url: str = ""
    headers: dict[str, str] = {}
    extra_body: dict[str, Any] = {}
    no_proxy: bool = False
    model: str = ""
    models: tuple[str, ...] = ()
    default: str = ""
    model_overrides: dict[str, ModelOverride] = {}
    vision: bool = False
    vision_models: tuple[str, ...] = ()
    vision_detail: Literal["auto", "low", "high"] = "auto"
    api_key_env: Annotated[str, Meta(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")] = ""
    auth_header: bool = False
    context_window: Count = 0
    max_output_tokens: OutputCap = 0
    temperature: Temperature | None = None
    effort: str = ""
    supported_efforts: tuple[str, ...] = ()
    default_effort: str = ""
    reasoning_protocol: str = ""
    thinking: str = ""
    responses_mode: Literal["auto", "stateless", "stateful"] = "auto"
    web_search: bool | None = None
    strip_chain_of_thought: bool = False
    price: Price | None = None
    prices: dict[str, Price] = {}
    cassette: str = ""

    @property
    def served(self) -> tuple[str, ...]:
        """The models offered, the default first."""
        every = self.models or ((self.model,) if self.model else ())
        if self.default in every:
            return (self.default, *(model for model in every if model != self.default))
        return every


class ShellConfig(Table, frozen=True):
    """[tools.shell]."""

    prefer: Literal["auto", "bash", "powershell", "pwsh"] = "auto"
    path: str = ""


class BackgroundJobsConfig(Table, frozen=True):
    """[tools.background_jobs]."""

    stalled_warning_seconds: Seconds = 900


class ToolsConfig(Table, frozen=True):
    """[tools]."""

    enabled: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    bash_timeout_seconds: Seconds = 120
    mcp_startup_timeout_seconds: Seconds = 30
    mcp_call_timeout_seconds: Seconds = 300
    shell: ShellConfig = ShellConfig()
    background_jobs: BackgroundJobsConfig = BackgroundJobsConfig()


class PermissionsConfig(Table, frozen=True):
    """[permissions]. Lists of all files add up."""

    preset: Preset = "workspace-write"
    mode: Literal["ask", "allow", "deny"] = "ask"
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


class SandboxConfig(Table, frozen=True):
    """[sandbox]. After loading, variables are expanded; lists of all files add up."""

    workspace_root: str = ""
    allow_write: tuple[str, ...] = ()
    allow_global: tuple[str, ...] = ()
    forbid_read: tuple[str, ...] = ()
    bash: Literal["enforce", "off"] = "enforce"
    network: bool = True


class ProxyConfig(Table, frozen=True):
    """[network.proxy]: a custom proxy by its parts, used where `proxy_url` is empty."""

    type: Literal["http", "https", "socks5", "socks5h"] = "http"
    server: str = ""
    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    username: str = ""
    password: str = ""


class NetworkConfig(Table, frozen=True):
    """[network]: how this process reaches model endpoints and the web."""

    proxy_mode: Literal["auto", "env", "custom", "off"] = "auto"
    proxy_url: str = ""
    no_proxy: tuple[str, ...] = ()
    proxy: ProxyConfig = ProxyConfig()


class EnvironmentConfig(Table, frozen=True):
    """[environment]: the summary of the machine that the model is given."""

    enabled: bool = True
    offline: bool = False
    tools: dict[str, str] = {}


class SkillsConfig(Table, frozen=True):
    """[skills]."""

    paths: tuple[str, ...] = ()
    excluded_paths: tuple[str, ...] = ()
    disabled_skills: tuple[str, ...] = ()
    disable_implicit_invocation: bool = False
    max_depth: Annotated[int, Meta(ge=0, le=5)] = 3


class LspConfig(Table, frozen=True):
    """[lsp]: the language servers that the tools may ask."""

    enabled: bool = True


class ServeConfig(Table, frozen=True):
    """[serve]."""

    auth_mode: Literal["none", "token", "password"] = "none"
    token: str = ""
    password_hash: str = ""
    behind_proxy: bool = False


class PluginConfig(Table, frozen=True):
    """[[plugins]]: one MCP server."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    type: Literal["stdio", "http", "sse"] = "stdio"
    command: str = ""
    args: tuple[str, ...] = ()
    dir: str = ""
    env: dict[str, str] = {}
    url: str = ""
    headers: dict[str, str] = {}
    startup_timeout_seconds: Seconds = 0
    call_timeout_seconds: Seconds = 0
    tool_timeout_seconds: dict[str, Seconds] = {}
    concurrency: Literal["parallel", "serial"] = "parallel"
    auto_start: bool = True


class Config(Table, frozen=True):
    """The whole configuration, every layer merged."""

    config_version: Count = 0
    default_model: str = ""
    language: str = ""
    ui: UiConfig = UiConfig()
    agent: AgentConfig = AgentConfig()
    providers: tuple[ProviderConfig, ...] = ()
    tools: ToolsConfig = ToolsConfig()
    permissions: PermissionsConfig = PermissionsConfig()
    sandbox: SandboxConfig = SandboxConfig()
    network: NetworkConfig = NetworkConfig()
    environment: EnvironmentConfig = EnvironmentConfig()
    skills: SkillsConfig = SkillsConfig()
    lsp: LspConfig = LspConfig()
    serve: ServeConfig = ServeConfig()
    plugins: tuple[PluginConfig, ...] = ()
