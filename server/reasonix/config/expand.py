"""`${VAR}` and `${VAR:-default}` in configuration values."""

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Put the variables' values in; an empty variable takes the default too. `~` stays.

    Raises:
        KeyError: The first variable that has neither a value nor a default.
    """

    def value(match: re.Match[str]) -> str:
        name, fallback = match[1], match[2]
        found = variables.get(name, "")
        if found:
            return found
        if name == "HOME" and variables.get("USERPROFILE"):
            return variables["USERPROFILE"]
        if fallback is None:
            raise KeyError(name)
        return fallback

    return _VARIABLE.sub(value, text)
