"""What a request of the Responses API says behind its input, and what it learns to leave out."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from reasonix.core.error import ProviderError
from reasonix.core.provider import Request
from reasonix.providers.budget import OutputBudget
from reasonix.providers.effort import check_effort
from reasonix.providers.endpoint import Endpoint
from reasonix.providers.trait import OFF, Responses, Traits

INCLUDE = "include"
SUMMARY = "reasoning.summary"
PARALLEL = "parallel_tool_calls"
IDS = "ids"

_REFUSALS: tuple[tuple[str, tuple[str, ...]], ...] = (
    # Only models that do not reason refuse it, and those have no summary either.
    (r"encrypted[ ._]content|['\"`]include['\"`\[]|include\[", (INCLUDE, SUMMARY)),
    (r"reasoning\.? ?summar", (SUMMARY,)),
    (r"parallel_tool_calls", (PARALLEL,)),
    (r"items? with id .{1,200} not found|not persisted", (IDS,)),
)
"""Words of a refusal, and what is left out from then on. Only what nobody asked for is given up:
an effort or a temperature of the user is refused in the endpoint's own words."""


class Rest:
    """Builds the fields behind the input for one endpoint."""

    def __init__(self, endpoint: Endpoint, traits: Traits, *, stateful: bool) -> None:
        self._endpoint = endpoint
        self._traits = traits
        self._stateful = stateful
        self._budget = OutputBudget(endpoint, traits)
        self._given_up: frozenset[str] = frozenset()
        self._most: int | None = None
        self._bare = False

    @property
    def with_ids(self) -> bool:
        """Whether replayed items keep their ids."""
        return IDS not in self._given_up

    @contextmanager
    def pressed(self, most: int | None, *, bare: bool) -> Generator[None]:
        """Build one body with a limit that a refusal told, or without what else may be refused.

        A refusal names one field at a time, and only one is answered by another try. Encrypted
        reasoning is asked for all the same: without it the reply can't be replayed as it came.
        """
        self._most, self._bare = most, bare
        try:
            yield
        finally:
            self._most, self._bare = None, False

    def fields(self, request: Request) -> dict[str, Any]:
        """The fields of one request; `extra_body` wins over the others.

        Raises:
            ConfigError: The effort is none that the endpoint offers.
        """
        endpoint = self._endpoint
        rest: dict[str, Any] = {"stream": True, "store": self._stateful}
        if self._traits.responses.encrypted and self._sends(INCLUDE):
            rest["include"] = ["reasoning.encrypted_content"]
        reasoning = self._reasoning(request.effort)
        if reasoning:
            rest["reasoning"] = reasoning
        limit = self._most or self._budget.limit(request.estimate)
        if limit is not None:
            rest["max_output_tokens"] = limit
        if endpoint.temperature is not None and not self._traits.reasoning.fixed_sampling:
            rest["temperature"] = endpoint.temperature
        if request.prefix.tools and self._sends(PARALLEL):
            rest["parallel_tool_calls"] = True
        rest.update(endpoint.extra_body)
        return rest

    def learned_limit(self, request: Request, error: ProviderError) -> int | None:
        """The limit with which a refused request may pass, None where the refusal names none."""
        return self._budget.learn(str(error), self._budget.limit(request.estimate))

    def give_up(self, request: Request, error: ProviderError) -> tuple[str, ...]:
        """What the endpoint refused and requests do without from now on; empty for nothing."""
        if type(error) is not ProviderError:
            return ()
        sent = self._optional(request) - self._given_up
        for words, names in _REFUSALS:
            if sent.intersection(names) and re.search(words, str(error), re.IGNORECASE):
                self._given_up |= set(names)
                return names
        return ()

    def _reasoning(self, effort: str | None) -> dict[str, str]:
        endpoint, traits = self._endpoint, self._traits.responses
        wanted = effort or endpoint.effort or ""
        check_effort(endpoint, wanted, _offered(traits))
        if wanted in OFF or endpoint.thinking in OFF:
            return {"effort": traits.off_word} if traits.off_word else {}
        word = "" if wanted == "auto" else wanted
        if not endpoint.supported_efforts:
            word = traits.levels.get(word, "")
        fields = {"effort": word} if word else {}
        if traits.summary and self._sends(SUMMARY):
            fields["summary"] = traits.summary
        return fields

    def _sends(self, name: str) -> bool:
        return name not in self._given_up and (name == INCLUDE or not self._bare)

    def _optional(self, request: Request) -> set[str]:
        fields = self.fields(request)
        sent = {name for name in (INCLUDE, PARALLEL) if name in fields}
        if "summary" in fields.get("reasoning", {}):
            sent.add(SUMMARY)
        return sent | {IDS}


def _offered(traits: Responses) -> list[str]:
    off = OFF if traits.off_word else ()
    return list(dict.fromkeys(("auto", *off, *traits.levels)))
