"""`reasonix.question.*`: what the model asks the user, and the user's answer."""

from reasonix.core.question import PartAnswer
from reasonix.lsp.context import Command, Context
from reasonix.lsp.fault import fault
from reasonix.lsp.wire import (
    QuestionAnswerParams,
    QuestionAnswerResult,
    QuestionListParams,
    QuestionListResult,
)


async def list_questions(context: Context, params: QuestionListParams) -> QuestionListResult:
    if params.session_id is not None and context.host.live(params.session_id) is None:
        text = f"No session {params.session_id!r} is open in this server."
        raise fault("session_not_found", text, "sessionId")
    return QuestionListResult(context.host.questions.pending(params.session_id))


async def answer(context: Context, params: QuestionAnswerParams) -> QuestionAnswerResult:
    answers = [PartAnswer(part.id, part.labels, part.text) for part in params.answers]
    done = context.host.questions.answer(params.question_id, answers)
    return QuestionAnswerResult(done.accepted, done.reason)


COMMANDS = (
    Command("reasonix.question.list", QuestionListParams, list_questions),
    Command("reasonix.question.answer", QuestionAnswerParams, answer),
)
