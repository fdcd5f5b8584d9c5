"""`reasonix.model.list`: the models that the configuration offers."""

from reasonix.config.model_ref import model_refs, resolve_model
from reasonix.config.schema import Config
from reasonix.core.error import ConfigError
from reasonix.lsp.context import Command, Context
from reasonix.lsp.wire import ModelListResult, ModelRecord, NoParams


async def list_models(context: Context, params: NoParams) -> ModelListResult:
    folders = context.folders()
    # Without a folder the user's own configuration counts: a home holds no project.
    root = folders[0] if folders else context.engine.paths.home
    config = context.engine.config_for(root).config
    default = _default(config)
    return ModelListResult(
        tuple(_model(context, config, ref, default) for ref in model_refs(config))
    )


def _default(config: Config) -> str | None:
    try:
        return resolve_model(config).ref
    except ConfigError:
        # No model, or a default that isn't there: the list says so by marking none.
        return None


def _model(context: Context, config: Config, ref: str, default: str | None) -> ModelRecord:
    choice = resolve_model(config, ref)
    return ModelRecord(
        ref,
        choice.model,
        context.engine.efforts(choice, config),
        ref == default,
        choice.vision,
        choice.window,
    )


COMMANDS = (Command("reasonix.model.list", NoParams, list_models),)
