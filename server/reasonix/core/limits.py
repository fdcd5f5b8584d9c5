"""Every cap on what reaches the model, the editor or the disk.

Caps with a config key are only defaults here; the others say why no key exists.
"""

RESULT_BYTES = 32 * 1024
"""One tool result as the model reads it. No key: it shapes the prompt prefix of every session."""

RESULT_PAGE_BYTES = 16 * 1024
RESULT_PAGE_MAX_BYTES = 24 * 1024
"""A page of `session:tool_result`, default and most. No key: below RESULT_BYTES by contract."""

PRUNE_OVER_CHARS = 8192
PRUNE_HEAD_CHARS = 4096
PRUNE_TAIL_CHARS = 1024
"""When the window is full: results over the first are cut to head and tail (seed 001 §3.6)."""

READ_LINES = 2000
"""Lines in a read_file window by default and at most (TOOLS.md)."""

LINE_CHARS = 4000
"""Characters of one line that a reading or searching tool shows. No key: a longer line is
not text that a model can edit by quoting."""

READ_FILE_BYTES = 64 * 1024 * 1024
"""Largest file that the file tools load whole. No key: above it memory, not policy, decides."""

IMAGE_BYTES = 3 * 1024 * 1024
IMAGE_PIXELS = 40_000_000
"""A picture file for the model. No key: it is sent with every later request, and vendors refuse
larger ones or shrink them."""

DIFF_BYTES = 256 * 1024
"""One file's diff in a preview or a result. No key: no one reads a longer one in a popup."""

GREP_MATCHES = 200
GLOB_PATHS = 1000
LS_ENTRIES = 1000
"""Most lines of a search result. No key: RESULT_BYTES would cut them anyway."""

SEARCH_TIMEOUT_S = 30
SEARCH_TIMEOUT_MAX_S = 300

INSTRUCTION_BYTES = 64 * 1024
"""Standing instructions in the prefix, all files together. No key: the rest is named, not lost."""

TASK_BYTES = 1024 * 1024
"""A task given to `run` as argument or on stdin. No key: larger than most models' window."""

REPEAT_REMINDERS = (3, 5, 8)
"""At which count of identical calls in a row the model is reminded (seed facts §1.4)."""

SHELL_TIMEOUT_S = 120
"""Default of [tools].bash_timeout_seconds."""

NESTED_ENTRIES = 20_000
"""Entries looked at, before and after a command, for protected files below the top. No key: it
bounds what every command pays; docs/limits.md says what lies beyond."""

SHELL_CAPTURE_BYTES = 16 * 1024 * 1024
"""Output of one foreground command that is kept; the middle is dropped beyond it."""

STREAM_IDLE_S = 120.0
CONNECT_S = 30.0
HEADERS_S = 120.0
"""A model endpoint may be this silent."""

STREAM_EVENT_BYTES = 16 * 1024 * 1024
"""One event of a model's stream, and a whole reply that is not streamed. No key: beyond it the
endpoint is broken."""

ERROR_BODY_BYTES = 64 * 1024
"""How much of an endpoint's error page is read. No key: one sentence of it is shown."""

EVENTS_PER_SECOND = 30
CLIENT_BACKLOG_BYTES = 4 * 1024 * 1024
"""Merged deltas to one client, and what is held for one that reads slowly (PROTOCOL §6)."""

IDLE_SESSIONS = 64
"""Sessions without a turn that one process keeps open; the one unused longest is closed and
taken up again at its next use. No key: each costs two descriptors and its transcript."""

TITLE_CHARS = 80
