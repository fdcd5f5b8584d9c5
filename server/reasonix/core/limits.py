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

SEARCH_UNSORTED_LINES = 2000
"""Lines that a search keeps in memory to put them in order itself. No key: with more of them a
search in order reaches its cap soon."""

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

READ_PAGES = 64
READ_ACTIVE_S = 120.0
"""Most pages of one reading of a file, and most time spent reading them, waits for the model not
counted (seed 004 §5). No key: they end a loop, not a task."""

READ_STALLS = 2
"""Pages that bring nothing new before the way of reading must change, and again before that
reading is paused (seed 004 §5). No key, as above."""

READ_WINDOW_WHOLE_BYTES = 8 * 1024 * 1024
"""Up to this size a window is cut from a file that was read whole, so that its version is known
by its content; of a larger file only the window is read. No key: memory decides."""

WHOLE_PROOF_LINES = 16 * 2000
"""Longest file that may be replaced whole on the strength of what was read (seed 004 §4).
No key: nobody keeps that much in mind."""

READ_PAUSE_FILES = 32
READ_PAUSE_RANGES = 64
"""Most files and ranges that an account of what was not read names (seed 004 §6)."""

EVIDENCE_TEXT_CHARS = 1024 * 1024
EVIDENCE_KEPT_CHARS = 16 * 1024 * 1024
"""Longest text of a file that is kept to be compared with its next version, and all of them
together. No key: beyond it the file is read again, nothing is lost."""

REFERENCE_OVER_CHARS = 2048
"""A window that was read before and stands in the request unchanged is not sent twice, if it is
longer than this. No key: below it the reference is no shorter."""

FETCH_S = 15.0
FETCH_BYTES = 1024 * 1024
FETCH_REDIRECTS = 10
"""One web_fetch in all: its time, what it reads of a body (after decompression), its redirects.
No key: what is longer is a download, and a command does that."""

PAGE_MARKDOWN_BYTES = 4 * 1024 * 1024
PAGE_CONVERT_S = 10.0
PAGE_CONVERT_MEMORY = 2 * 1024 * 1024 * 1024
"""The process that turns a page into Markdown: what it may write, its time, its address space.
No key: they end a hostile page."""

ASK_QUESTIONS = 8
ASK_OPTIONS = 12
ASK_HEADER_CHARS = 80
ASK_TEXT_CHARS = 4000
ASK_LABEL_CHARS = 200
ASK_ANSWER_CHARS = 32 * 1024
"""One `ask` call, and the user's own words in an answer. No key: nobody reads more."""

TODO_ITEMS = 200
TODO_CHARS = 2000
"""Items of the agent's own list, and the words of each. No key: beyond it, it is no list."""

RECEIPTS = 2000
"""Commands, reads and changes of a session that complete_step can be shown. No key: the oldest
prove least."""

INDEX_FILES = 2000
INDEX_FILE_BYTES = 1024 * 1024
INDEX_SYMBOLS = 100
INDEX_SYMBOLS_MAX = 200
INDEX_KEPT_SYMBOLS = 20_000
"""code_index: files of one call, the largest of them, its lines by default and at most (facts
§8), and the symbols of unchanged files that a session keeps. No key: what is larger is generated
code, or is asked for by a narrower path."""

PARSE_S = 2.0
"""Parsing one source file. No key: text takes a tenth of it, what takes longer is no text."""

JOBS_LIVE = 16
"""Background jobs of one session that run at a time. No key: more is a mistake, and each one
costs processes and a pipe."""

JOB_LOG_BYTES = 16 * 1024 * 1024
JOB_TAIL_BYTES = 64 * 1024
"""Output of one job that is kept on disk from its start, and in memory from its end. No key: a
server that runs for days must not fill the disk, and nobody reads more."""

JOB_LABEL_CHARS = 48

JOB_WAIT_S = 30
JOB_WAIT_MAX_S = 600
"""How long `wait` waits by default and at most. No key: the model asks, and may ask again."""

FILTER_S = 2.0
"""A regular expression over a job's output. No key: it ends one that would never end."""
