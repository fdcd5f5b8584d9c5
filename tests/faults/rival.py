"""Another program that writes the same file: `python -m faults.rival FILE SEED`.

It writes its texts one after the other, each once the one before has been answered: the file
then holds a text of the other side that names it. It writes in place, a part at a time, or puts a
new file in the place of the old one. It ends when it is told to, and says how many texts it wrote.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

PADDING = "x" * 3000


def look(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())


def write(path: Path, number: int, choose: random.Random) -> None:
    text = json.dumps({"theirs": number, "padding": PADDING[: choose.choice((0, 7, 3000))]})
    if choose.random() < 0.5:
        other = path.with_name("rival")
        other.write_text(text)
        other.rename(path)
        return
    with path.open("w") as file:
        half = len(text) // 2
        for part in (text[:half], text[half:]):
            file.write(part)
            file.flush()
            pause(choose, 0.0005)


def pause(choose: random.Random, most_s: float) -> None:
    time.sleep(choose.random() * most_s)


def main(name: str, seed: str) -> None:
    path, choose = Path(name), random.Random(int(seed))
    number = 0
    while True:
        seen = look(path)
        if seen.get("answered") == number:
            if seen["end"]:
                break
            pause(choose, 0.004)
            number += 1
            write(path, number, choose)
        pause(choose, 0.0005)
    print(number)


if __name__ == "__main__":
    main(*sys.argv[1:])
