"""How the demo looks: headings, what is asked and answered, test runs, a child's output."""

from reasonix.cli.io import CliIo
from reasonix.cli.progress import Progress
from reasonix.cli.render import diff_lines, glyphs_for
from reasonix.cli.say import ink_for, visible
from reasonix.core.approval import Approval
from reasonix.core.event import Envelope, MessageFinished, TurnFinished

MARGIN = "  "
_DIFF_LINES = 40


class Stage:
    """Writes everything to stdout, in order; also what progress would write to stderr."""

    def __init__(self, io: CliIo) -> None:
        self._io = io
        self._ink = ink_for(io, is_tty=io.stdout_is_tty)
        self._glyphs = glyphs_for(io.stdout)
        merged = CliIo(
            env=io.env,
            cwd=io.cwd,
            stdin=io.stdin,
            stdout=io.stdout,
            stderr=io.stdout,
            stdout_is_tty=io.stdout_is_tty,
            stderr_is_tty=io.stdout_is_tty,
        )
        self._progress = Progress(merged, margin=MARGIN, diffs=False)
        self._unfinished = ""
        self._halves = 0

    def say(self, text: str = "") -> None:
        """One line of the narrator."""
        self._io.out(f"{MARGIN}{text}" if text else "")
        self._io.stdout.flush()

    def opening(self) -> None:
        ink = self._ink
        self._io.out(ink.bold("Reasonix demo"))
        self._io.out()
        self.say("A small project has a failing test; Reasonix is asked to fix it, twice.")
        self.say(f"{ink.yellow('The model is a recording')}: its words were written beforehand, no")
        self.say("key and no network are used. All else is real: the files, the commands, the")
        self.say("edits, the approvals, the test runs.")

    def heading(self, title: str) -> None:
        self._halves += 1
        self._io.out()
        self._io.out(self._ink.bold(f"{self._halves}. {title}"))

    def task(self, text: str) -> None:
        self.say()
        self.say(self._ink.cyan(f"> {text}"))

    def command(self, text: str) -> None:
        self.say()
        self.say(self._ink.cyan(f"$ {text}"))

    def test_run(self, when: str, output: str, *, passed: bool) -> None:
        """The project's own test, run by the demo and not by the agent."""
        ink = self._ink
        self.say()
        self.say(f"{ink.cyan('$ python3 -m unittest')}  {ink.dim(f'({when}, outside the agent)')}")
        for line in _telling_lines(output):
            self.say(f"{MARGIN}{visible(line)}")
        self.say(f"{MARGIN}{ink.green('The tests pass.') if passed else ink.red('A test fails.')}")

    def show(self, envelope: Envelope) -> None:
        """One event of the editor's session, as `reasonix run` would show it."""
        event = envelope.event
        self._progress.show(envelope)
        if isinstance(event, MessageFinished) and event.final:
            self.say(self._ink.bold(visible(event.text)))
        elif isinstance(event, TurnFinished) and event.outcome != "done":
            reason = event.error.message if event.error else event.outcome
            self.failure(f"The turn ended: {visible(reason)}")

    def approval(self, approval: Approval, choice: str) -> None:
        """What the user would be asked, and what the demo's client answers."""
        ink = self._ink
        title = next((c.title for c in approval.choices if c.id == choice), choice)
        self.say()
        self.say(f"{ink.yellow('?')} {ink.bold(f'May {approval.tool} do this?')}")
        self.say(f"{MARGIN}{ink.dim(visible(approval.reason))}")
        preview = approval.preview
        lines = preview.text.splitlines()
        if preview.kind == "diff":
            lines = list(diff_lines(preview.text, ink, _DIFF_LINES))
        elif preview.kind == "command":
            lines = [f"$ {visible(line)}" for line in lines]
        for line in lines:
            self.say(f"{MARGIN}{MARGIN}{line}")
        self.say(f"{MARGIN}{ink.green(f'{self._glyphs.bullet} {title}')}")
        self.say()

    def child_output(self, text: str) -> None:
        """Output of a child as it comes; whole lines only, with the colours it left out."""
        *whole, self._unfinished = (self._unfinished + text).split("\n")
        for line in whole:
            if line or self._unfinished:
                self.say(self._tinted(visible(line)))

    def failure(self, text: str) -> None:
        self.say(self._ink.red(text))

    def closing(self) -> None:
        ink = self._ink
        self._io.out()
        self._io.out(ink.green("Both turns fixed the project.") + " With a model of your own:")
        self._io.out()
        self.say(
            f"{ink.cyan('reasonix setup')}                        choose a model, local or not"
        )
        self.say(f'{ink.cyan("reasonix run")} "fix the failing test"   in your project')
        self.say(f"{ink.cyan('reasonix lsp')}                          the command for your editor")

    def _tinted(self, line: str) -> str:
        bare = line.lstrip()
        if bare.startswith("+"):
            return self._ink.green(line)
        if bare.startswith("-") and not bare.startswith("->"):
            return self._ink.red(line)
        if bare.startswith("@@"):
            return self._ink.cyan(line)
        return line


def _telling_lines(output: str) -> list[str]:
    """Of unittest's output the failures' heads and reasons, and the counts."""
    telling = ("FAIL:", "ERROR:", "AssertionError", "Ran ", "OK", "FAILED")
    return [line for line in output.splitlines() if line.startswith(telling)]
