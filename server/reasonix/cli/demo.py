"""`reasonix demo`: a whole turn on a real project, with a recording in the model's place."""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from reasonix.cli.demo_editor import drive_editor
from reasonix.cli.demo_stage import Stage
from reasonix.cli.exit_code import DONE, FAILED
from reasonix.cli.io import CliIo
from reasonix.config.schema import SandboxConfig, ToolsConfig
from reasonix.core.error import ReasonixError, ToolFault
from reasonix.sandbox.process import ProcessEnd, run_process
from reasonix.sandbox.roots import Roots
from reasonix.sandbox.shell import make_shell

TASK = "Fix the failing test."
RECORDING = Path(__file__).with_name("demo_project") / "cassette.jsonl"

_FILES = ("invoice.py", "test_invoice.py")
_TEST_S = 60
_RUN_S = 120
_OUTPUT_BYTES = 256 * 1024
_CONFIG = """\
default_model = "recording/demo"

[[providers]]
name = "recording"
kind = "replay"
model = "demo"
cassette = "cassette.jsonl"

[environment]
enabled = false
"""
_DROPPED = ("REASONIX_STATE_HOME", "REASONIX_CACHE_HOME", "REASONIX_KEYS_FROM_ENV")
_REASONIX = (sys.executable, "-m", "reasonix")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `reasonix demo` takes."""
    parser.add_argument("--keep", action="store_true", help="leave what it made, and say where")


def execute(args: argparse.Namespace, io: CliIo) -> int:
    """Show both halves; 0 only if each turn makes the failing test pass.

    Raises:
        ReasonixError: A part of the demo could not be started.
    """
    base = Path(tempfile.mkdtemp(prefix="reasonix-demo-")).resolve()
    try:
        return play(io, base, RECORDING)
    finally:
        if args.keep:
            io.out(f"Kept: {base}")
        else:
            shutil.rmtree(base, ignore_errors=True)


def play(io: CliIo, base: Path, recording: Path) -> int:
    """Play the demo in the empty directory `base`, which also holds its own Reasonix home."""
    home = base / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text(_CONFIG, encoding="utf-8")
    shutil.copyfile(recording, home / "cassette.jsonl")
    env = {name: value for name, value in io.env.items() if name not in _DROPPED}
    env["REASONIX_HOME"] = str(home)
    # The recording says `python3`; the one that runs this is certain to be there.
    env["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), env.get("PATH", "")))
    return asyncio.run(_Demo(Stage(io), base, home, env).play())


@dataclass(frozen=True, slots=True)
class _Demo:
    stage: Stage
    base: Path
    home: Path
    env: Mapping[str, str]

    async def play(self) -> int:
        stage = self.stage
        stage.opening()
        for title, name, drive in (
            ("In an editor, over the language server protocol", "editor", self._editor),
            ("On the command line", "terminal", self._terminal),
        ):
            stage.heading(title)
            project = self._project(name)
            if not await self._test_fails(project):
                stage.failure("The test passes before anything was done; this is no demo.")
                return FAILED
            await drive(project)
            if not await self._test_passes(project):
                stage.failure("The test still fails. The demo did not work.")
                return FAILED
        stage.closing()
        return DONE

    def _project(self, name: str) -> Path:
        project = self.base / name
        project.mkdir()
        for file in _FILES:
            shutil.copyfile(RECORDING.with_name(f"{file}.txt"), project / file)
        return project

    async def _test_fails(self, project: Path) -> bool:
        end = await self._test(project)
        self.stage.test_run("before", end.output, passed=end.exit_code == 0)
        return end.exit_code != 0

    async def _test_passes(self, project: Path) -> bool:
        end = await self._test(project)
        self.stage.test_run("after", end.output, passed=end.exit_code == 0)
        return end.exit_code == 0

    async def _test(self, project: Path) -> ProcessEnd:
        return await self._process((sys.executable, "-m", "unittest"), project, _TEST_S, None)

    async def _editor(self, project: Path) -> None:
        stage = self.stage
        stage.say()
        stage.say("The client starts `reasonix lsp` with the preset read-only: every command")
        stage.say("and every write asks. You see what it would be asked; the client allows it.")
        stage.task(TASK)
        await drive_editor((*_REASONIX, "lsp", "--stdio"), project, self.env, TASK, stage)

    async def _terminal(self, project: Path) -> None:
        stage = self.stage
        flags: tuple[str, ...] = ()
        reason = self._unconfined(project)
        stage.say()
        if reason is None:
            stage.say("Preset workspace-write: writes in the project need no answer, commands run")
            stage.say("confined to it.")
        else:
            flags = ("--permission-mode", "danger-full-access")
            stage.say(f"No sandbox works here: {reason}")
            stage.say("So this half runs with danger-full-access, in its temporary directory.")
        stage.command(f'reasonix run "{TASK}"')
        argv = (*_REASONIX, "run", *flags, TASK)
        end = await self._process(argv, project, _RUN_S, stage.child_output)
        stage.child_output("\n")
        if end.timed_out:
            stage.failure(f"`reasonix run` took longer than {_RUN_S} s.")

    def _unconfined(self, project: Path) -> str | None:
        """Why commands can't be confined here; None where they can."""
        temp = self.base / "temp"
        temp.mkdir(exist_ok=True)
        roots = Roots(project, write_dirs=(), forbid_read=(), home=self.home, temp=temp)
        shell = make_shell(SandboxConfig(), ToolsConfig(), roots, self.env, sys.platform)
        return None if shell.confined else shell.reason

    async def _process(
        self,
        argv: tuple[str, ...],
        cwd: Path,
        timeout_s: float,
        on_output: Callable[[str], None] | None,
    ) -> ProcessEnd:
        try:
            return await run_process(
                argv,
                cwd=cwd,
                env=self.env,
                timeout_s=timeout_s,
                on_output=on_output,
                limit_bytes=_OUTPUT_BYTES,
            )
        except ToolFault as fault:
            raise ReasonixError(str(fault), fault.code) from fault
