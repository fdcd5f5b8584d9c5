"""Whether a web fetch that was admitted may go on to where it is redirected."""

from msgspec import Struct

from reasonix.core.error import ToolFault
from reasonix.core.tool import Effect, Subject
from reasonix.permission.policy import Policy
from reasonix.permission.rule import host_of


class RedirectGuard(Struct, frozen=True):
    policy: Policy

    def admit(self, asked: str, led: str) -> None:
        """Return to follow the redirect from an admitted URL.

        Raises:
            ToolFault: denied; the call that was admitted was for another place.
        """
        subject = (Subject("url", led),)
        decision = self.policy.explain("web_fetch", Effect.EXTERNAL, subject, read_only=True)
        if decision.verdict == "deny":
            raise ToolFault("denied", f"{asked} redirects to {led}. {decision.reason}")
        if decision.verdict == "ask" and (host_of(led) != host_of(asked) or decision.rule):
            raise ToolFault(
                "denied",
                f"{asked} redirects to {led}, which needs the user's word. Call web_fetch with "
                "that URL if you need it.",
            )
