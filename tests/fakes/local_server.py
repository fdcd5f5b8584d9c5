"""Model servers of this machine, by the answers that each gives about its models.

Shapes as each server's own documentation shows them, cut to two models each: Ollama API, LM
Studio REST API v0, llama.cpp server README (/props), vLLM's OpenAI-compatible server.
"""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answers = Mapping[str, Any]
SILENCE = object()
"""An answer that never comes."""

OLLAMA: Answers = {
    "GET /v1/models": {
        "object": "list",
        "data": [
            {"id": "qwen3:8b", "object": "model", "created": 1761, "owned_by": "library"},
            {"id": "gemma3:4b", "object": "model", "created": 1761, "owned_by": "library"},
            {"id": "tuned:latest", "object": "model", "created": 1761, "owned_by": "library"},
        ],
    },
    "GET /api/ps": {
        "models": [
            {
                "name": "qwen3:8b",
                "model": "qwen3:8b",
                "size": 6654289920,
                "details": {"format": "gguf", "family": "qwen3"},
                "expires_at": "2026-01-04T14:38:31.83753-07:00",
                "size_vram": 6654289920,
                "context_length": 16384,
            }
        ]
    },
    "POST /api/show qwen3:8b": {
        "parameters": "temperature 0.6\nnum_ctx 8192",
        "details": {"family": "qwen3"},
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
        "capabilities": ["completion", "tools", "thinking"],
    },
    "POST /api/show gemma3:4b": {
        "parameters": 'stop "<end_of_turn>"\ntemperature 1',
        "details": {"family": "gemma3"},
        "model_info": {"gemma3.context_length": 131072, "gemma3.vision.image_size": 896},
        "capabilities": ["completion", "vision"],
    },
    "POST /api/show tuned:latest": {
        "parameters": 'num_ctx                        32768\nstop "x"',
        "model_info": {"llama.context_length": 131072, "tokenizer.ggml.tokens": None},
        "capabilities": ["completion", "tools"],
    },
}

LM_STUDIO: Answers = {
    "GET /v1/models": {
        "data": [
            {"id": "qwen2-vl-7b-instruct", "object": "model", "owned_by": "organization_owner"},
            {"id": "granite-3.0-2b", "object": "model", "owned_by": "organization_owner"},
        ],
        "object": "list",
    },
    "GET /api/v0/models": {
        "object": "list",
        "data": [
            {
                "id": "qwen2-vl-7b-instruct",
                "object": "model",
                "type": "vlm",
                "publisher": "mlx-community",
                "arch": "qwen2_vl",
                "compatibility_type": "mlx",
                "quantization": "4bit",
                "state": "not-loaded",
                "max_context_length": 32768,
            },
            {
                "id": "granite-3.0-2b",
                "object": "model",
                "type": "llm",
                "publisher": "lmstudio-community",
                "arch": "granite",
                "state": "loaded",
                "max_context_length": 131072,
                "loaded_context_length": 4096,
            },
        ],
    },
    # LM Studio answers what it doesn't know with status 200 and an error.
    "*": {"error": "Unexpected endpoint or method. (GET /props). Returning 200 anyway"},
}

LLAMA_CPP: Answers = {
    "GET /v1/models": {
        "object": "list",
        "data": [
            {
                "id": "gemma-3-4b-it.gguf",
                "object": "model",
                "created": 1735142223,
                "owned_by": "llamacpp",
                "meta": {"vocab_type": 2, "n_ctx_train": 131072, "n_params": 8030261312},
            }
        ],
    },
    "GET /props": {
        "default_generation_settings": {"id": 0, "n_ctx": 12288, "is_processing": False},
        "total_slots": 1,
        "model_path": "gemma-3-4b-it.gguf",
        "chat_template": "...",
        "modalities": {"vision": True},
        "build_info": "b(build number)-(build commit hash)",
    },
}

VLLM: Answers = {
    "GET /v1/models": {
        "object": "list",
        "data": [
            {
                "id": "Qwen/Qwen3-8B",
                "object": "model",
                "created": 1746,
                "owned_by": "vllm",
                "root": "Qwen/Qwen3-8B",
                "parent": None,
                "max_model_len": 40960,
                "permission": [{"id": "modelperm-1", "object": "model_permission"}],
            }
        ],
    },
}


@dataclass
class LocalServer:
    """Answers by method and path, POSTs by the model in their body too. `asked`: in order."""

    answers: Answers
    asked: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    base_url: str = ""

    @contextmanager
    def serving(self) -> Generator["LocalServer"]:
        local, closing = self, threading.Event()

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.answer(f"GET {self.path}")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.answer(f"POST {self.path} {body['model']}")

            def answer(self, wanted: str) -> None:
                local.asked.append(wanted)
                local.keys.append(self.headers.get("Authorization"))
                body = local.answers.get(wanted, local.answers.get("*"))
                if body is SILENCE:
                    closing.wait()
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            self.base_url = f"http://127.0.0.1:{server.server_port}/v1"
            yield self
        finally:
            closing.set()
            server.shutdown()
            thread.join()
            server.server_close()
