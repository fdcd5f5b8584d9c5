"""Known keys that do nothing: not yet, not in this product, or no longer.

Written dotted, `[]` for the entries of an array; a table's name covers all below it.
"""

DORMANT = frozenset(
    [
        "language",
        "ui.theme_style",
        "ui",
        "skills",
        "lsp",
        "serve",
        "plugins",
        "notifications",
        "secrets",
        "statusline",
        "remote",
        "agent.compact_ratio",
        "agent.planner_model",
        "agent.vision_model",
        "agent.guardian_model",
        "agent.guardian_temperature",
        "agent.recovery_model",
        "agent.recovery_temperature",
        "agent.subagent_model",
        "agent.subagent_models",
        "agent.subagent_effort",
        "agent.subagent_efforts",
        "agent.max_subagent_depth",
        "agent.max_subagent_concurrency",
        "agent.max_parallel_writers",
        "agent.task_cost_budget",
        "agent.task_time_budget_minutes",
        "agent.goal_token_budget",
        "agent.output_style",
        "tools.mcp_startup_timeout_seconds",
        "tools.mcp_call_timeout_seconds",
        "tools.background_jobs",
        "providers[].display_name",
        "providers[].preset_id",
        "providers[].preset_version",
        "providers[].cache_ttl_minutes",
        "providers[].billing_currency",
        "providers[].billing_mode",
        "providers[].balance_url",
    ]
)
"""Keys that parse and don't act yet; `doctor` lists those that a file sets."""

UNBUILT = frozenset(["cli", "desktop", "bot", "telemetry", "billing", "credentials_store"])
"""Keys of parts that this product leaves out on purpose. Kept on write, for other clients."""

RETIRED = frozenset(
    [
        "agent.max_steps",
        "agent.planner_max_steps",
        "agent.auto_plan",
        "agent.auto_plan_classifier",
        "agent.soft_compact_ratio",
        "agent.tool_result_snip_ratio",
        "agent.compact_force_ratio",
        "agent.context_editing",
        "agent.keep",
        "agent.recent_keep",
        "agent.cold_resume_prune",
        "agent.completion_validation",
        "agent.completion_evaluator_model",
        "agent.plan_mode_read_only_commands",
        "agent.legacy_anchor_safety_gate",
        "permissions.allow_dynamic_bash",
        "ui.close_behavior",
        "providers[].responses_stateful",
        "plugins[].tier",
        "plugins[].trusted_read_only_tools",
        "plugins[].default_tools_approval_mode",
        "plugins[].approval_mode",
        "plugins[].approvals_reviewer",
    ]
)
"""Keys that parse, do nothing, and go at the next write that the user asks for."""

USER_ONLY = frozenset(
    [
        "telemetry",
        "secrets",
        "remote",
        "cli",
        "billing.display_currency",
        "sandbox.allow_global",
        "agent.legacy_anchor_safety_gate",
    ]
)
"""Keys that a project file cannot set."""


def standing(path: str) -> str:
    """`dormant`, `unbuilt`, `retired`, or empty for a key that acts or is unknown."""
    for covered in _ancestry(path):
        if covered in RETIRED:
            return "retired"
        if covered in DORMANT:
            return "dormant"
        if covered in UNBUILT:
            return "unbuilt"
    return ""


def is_named(path: str) -> bool:
    """Whether a key without a type is known by name."""
    return path in DORMANT or path in UNBUILT or path in RETIRED


def user_only(path: str) -> bool:
    """Whether only the user's own file may set the key."""
    return any(covered in USER_ONLY for covered in _ancestry(path))


def _ancestry(path: str) -> list[str]:
    names = path.split(".")
    found: list[str] = []
    for count in range(len(names), 0, -1):
        joined = ".".join(names[:count])
        found.append(joined)
        if joined.endswith("[]"):
            found.append(joined.removesuffix("[]"))
    return found
