"""The commands that work. A command is a function and a line in its module's list."""

from reasonix.lsp.commands import approval, job, model, question, session, turn, workspace
from reasonix.lsp.context import Command

COMMANDS: tuple[Command, ...] = (
    *session.COMMANDS,
    *turn.COMMANDS,
    *approval.COMMANDS,
    *question.COMMANDS,
    *job.COMMANDS,
    *model.COMMANDS,
    *workspace.COMMANDS,
)
