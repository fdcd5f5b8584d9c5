"""`reasonix doctor`: what works here and what does not."""

import argparse
from collections.abc import Iterator, Sequence

import msgspec

from reasonix.cli.doctor_report import Report, examine
from reasonix.cli.io import CliIo
from reasonix.cli.model_server import CANDIDATES, Candidate


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare --json."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Print the report. 0 whenever there is one, whatever it says."""
    return carry_out(args, io, CANDIDATES)


def carry_out(args: argparse.Namespace, io: CliIo, candidates: Sequence[Candidate]) -> int:
    """As `execute`, with the places where local servers are looked for."""
    report = examine(io, candidates)
    if args.json:
        io.out(msgspec.json.format(msgspec.json.encode(report)).decode())
    else:
        for line in _lines(report):
            io.out(line)
    return 0


def _lines(report: Report) -> Iterator[str]:
    yield f"Reasonix {report.version} (Python {report.python}, {report.platform})"
    yield ""
    yield f"home       {report.home}"
    yield f"state      {report.state}"
    yield f"cache      {report.cache}"
    for file in report.files:
        yield f"config     {file}"
    for file in report.unreadable:
        yield f"config     {file} (not readable)"
    if not report.files and not report.unreadable:
        yield "config     no file; defaults apply"
    yield f"project    {report.root} ({report.trust})"
    if report.outer:
        yield f"           {report.outer}"
    if report.gated:
        yield f"           waiting for `reasonix trust`: {', '.join(report.gated)}"
    yield f"preset     {report.preset}, mode {report.mode}"
    yield f"sandbox    {report.sandbox.text}"
    yield f"ripgrep    {report.ripgrep or 'not found; grep and glob search without it, slower'}"
    yield from _models(report)
    yield from _problems(report)


def _models(report: Report) -> Iterator[str]:
    yield ""
    yield f"model      {report.model.ref or report.model.fault}"
    for provider in report.providers:
        place = provider.address or provider.kind
        models = ", ".join(provider.models)
        said = f"; {provider.server}" if provider.server else ""
        key = f"{provider.key}, not tested" if " present" in provider.key else provider.key
        row = f"{provider.name} ({place}, {provider.origin}): {models}; {key}{said}"
        yield f"provider   {row}"
    if any(" present" in provider.key for provider in report.providers):
        yield "           Keys are not tested here: `reasonix setup` tests one."
    for server in report.local_servers:
        models = ", ".join(server.models) or "no model loaded"
        yield f"local      {server.title} at {server.address}: {models}"


def _problems(report: Report) -> Iterator[str]:
    rows = [f"error: {text}" for text in report.errors]
    rows += [f"warning: {text}" for text in report.warnings]
    rows += [f"error: {text}" for text in report.faults]
    if report.dormant_keys:
        rows.append(f"doesn't act yet: {', '.join(report.dormant_keys)}")
    if report.unbuilt_keys:
        rows.append(f"does nothing in this product: {', '.join(report.unbuilt_keys)}")
    if report.retired_keys:
        rows.append(f"retired, does nothing: {', '.join(report.retired_keys)}")
    yield ""
    yield from rows or ["No problems found."]
