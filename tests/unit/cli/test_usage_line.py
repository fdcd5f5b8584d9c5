import pytest

from reasonix.cli.render import usage_line
from reasonix.core.provider import Cost, Usage


@pytest.mark.parametrize(
    ("usage", "line"),
    [
        (Usage(requests=1), "1 request, 2.0 s"),
        (
            Usage(1200, 30, 12, 600, 600, 2, Cost(0.01234, "USD")),
            "2 requests, 1,200 tokens in (50 % from cache), 30 out (12 of them thought), "
            "0.0123 USD, 2.0 s",
        ),
        (
            Usage(10, 2, requests=1, cost=Cost(12.5, "CNY"), other_costs=(Cost(0.00001, "USD"),)),
            "1 request, 10 tokens in, 2 out, 12.50 CNY + under 0.0001 USD, 2.0 s",
        ),
        (Usage(10, requests=1), "1 request, 10 tokens in, 2.0 s"),
    ],
)
def test_the_line_names_what_is_known_and_each_currency_by_itself(usage: Usage, line: str) -> None:
    assert usage_line(usage, 2000) == line
