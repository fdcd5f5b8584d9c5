"""The agent's list of steps: one for a session, written by todo_write and by complete_step."""

from collections.abc import Callable, Iterable

from msgspec import structs

from reasonix.core.event import TodoItem

_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class TodoList:
    """The list as it stands; `tell` is told of each new one."""

    def __init__(self, tell: Callable[[tuple[TodoItem, ...]], None]) -> None:
        self._tell = tell
        self.items: tuple[TodoItem, ...] = ()

    def replace(self, items: tuple[TodoItem, ...]) -> None:
        self.items = items
        self._tell(items)

    def find(self, step: str) -> int | None:
        """The number, from 1, of the step that is named: by its text, else by its number.

        Where several have the same text, the first that is not completed.
        """
        wanted = " ".join(step.split()).casefold()
        same = [
            number
            for number, item in enumerate(self.items, 1)
            if " ".join(item.text.split()).casefold() == wanted
        ]
        still_open = [n for n in same if self.items[n - 1].status != "completed"]
        if same:
            return (still_open or same)[0]
        number = wanted.removesuffix(".")
        if number.isascii() and number.isdigit() and 1 <= int(number) <= len(self.items):
            return int(number)
        return None

    def before(self, number: int) -> int | None:
        """The number of an item that has to be completed before this one; None where none is."""
        for other in in_order(self.items):
            if other == number:
                return None
            if self.items[other - 1].status != "completed":
                return other
        return None

    def complete(self, number: int) -> None:
        """Mark an item completed and begin the next one."""
        items = list(self.items)
        items[number - 1] = structs.replace(items[number - 1], status="completed")
        begun = any(item.status == "in_progress" for item in items)
        following = (n for n in in_order(items) if items[n - 1].status == "pending")
        next_one = next(following, None)
        if next_one is not None and not begun:
            items[next_one - 1] = structs.replace(items[next_one - 1], status="in_progress")
        self.replace(tuple(items))

    def listing(self) -> str:
        if not self.items:
            return "The list is empty."
        done = sum(item.status == "completed" for item in self.items)
        lines = [
            f"{'  ' * item.level}{number}. {_MARKS[item.status]} {item.text}"
            for number, item in enumerate(self.items, 1)
        ]
        return f"{done} of {len(self.items)} completed.\n" + "\n".join(lines)


def in_order(items: Iterable[TodoItem]) -> list[int]:
    """The numbers of the items as they are to be finished: a phase after its steps."""
    order: list[int] = []
    phase: list[int] = []
    for number, item in enumerate(items, 1):
        if item.level == 0:
            order += phase
            phase = [number]
        else:
            order.append(number)
    return order + phase
