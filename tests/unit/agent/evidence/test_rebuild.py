from pathlib import Path

import pytest

from reasonix.agent.evidence.rebuild import Rebuild

ROOT = Path("/project")
TARGET = ROOT / "src/app.py"


@pytest.mark.parametrize(
    "words",
    [
        "Please rewrite src/app.py from scratch.",
        "Look at the tests first. Then rebuild `src/app.py`.",
        "overwrite /project/src/app.py",
        "Replace @src/app.py completely with a stub",
        "请重写 src/app.py",
        "Create src/app.py anew; keep the rest",
        "The layout is bad.\nRegenerate 'src/app.py', and nothing else matters.",
    ],
)
def test_words_of_the_user_that_name_a_file_to_be_written_anew(words: str) -> None:
    assert Rebuild(ROOT, words).covers(TARGET)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "Fix the bug in src/app.py",
        "Don't rewrite src/app.py",
        "Do not overwrite src/app.py.",
        "Rewrite everything except src/app.py",
        "Rewrite app.py",
        "Rewrite other/src/app.py",
        "Rewrite src/app.py.bak",
        "Rewrite src",
        "Should I rewrite src/app.py?",
        "Can you rewrite src/app.py?",
        "Rewrite the readme. src/app.py has the details.",
        "Never rebuild src/app.py",
        "不要重写 src/app.py",
        "Rewrite lib.py instead of src/app.py",
    ],
)
def test_words_that_give_no_leave_to_replace_an_unread_file(words: str) -> None:
    assert not Rebuild(ROOT, words).covers(TARGET)
