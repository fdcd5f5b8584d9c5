"""The floor of `initialize`: the server library with nothing of ours."""

from pygls.lsp.server import LanguageServer

if __name__ == "__main__":
    LanguageServer("bare", "1").start_io()
