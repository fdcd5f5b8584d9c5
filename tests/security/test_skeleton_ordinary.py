"""Refusing everything is no protection: what a developer does all day runs unasked."""

from pathlib import Path

import pytest

from fakes.sandbox import confined_shell, roots_in, run
from reasonix.config.schema import PermissionsConfig
from reasonix.core.tool import Effect, Subject
from reasonix.permission.policy import Policy

ANYWHERE = """
ls -la
pwd
cat a.py | head -20
grep -rn "def " --include=*.py . | sort | uniq -c
find . -name '*.py' -newer a.py -print0 | xargs -0 wc -l
sed -n '1,10p' a.py
sed -i 's/one/two/' a.py
awk -F: '{print $1}' a.py > out.txt
mkdir -p build/deep && touch build/deep/x && rm -rf build
cp a.py b.py; mv b.py c.py; rm c.py
ln -s a.py link && readlink -f link
chmod +x a.py
diff a.py a.py
echo "$(date +%Y)" >> notes.md
for f in *.py; do echo "$f"; done
if [ -f a.py ]; then echo yes; else echo no; fi
test -d src || mkdir src
cat <<'END' > new.txt
line
END
printf '%s\\n' a b c | tee list.txt
tar czf all.tgz a.py && tar tzf all.tgz
gzip -k a.py && gunzip -f a.py.gz
echo x > /tmp/scratch && cat /tmp/scratch
T=$(mktemp) && echo x > "$T" && cat "$T"
python3 -c 'print(1 + 1)'
python3 a.py
python3 -m json.tool <<< '{"a": 1}'
python3 -m unittest -q test_a
python3 -m py_compile a.py
env | sort | head -3
which python3 git
git status --short
git log --oneline -5
git diff --stat
git add -A && git -c user.name=a -c user.email=a@b commit -qm work
git checkout -q -b feature
git stash list
git branch --list
git show --stat HEAD
git rev-parse HEAD
git tag v0
git blame a.py
git ls-files | wc -l
git grep -n one
date -u
uname -a
id -un
sleep 0
wc -c < a.py
head -c 16 /dev/urandom | od -An -tx1
yes | head -1000 | tail -1
(cd src && pwd)
set -euo pipefail; echo strict
true && false || echo fallback
timeout 5 python3 -c 'print("ok")'
stat -c %s a.py
du -sh .
df -h . | tail -1
sha256sum a.py
python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print("bound")'
python3 -c 'import multiprocessing as m; m.Lock(); print("shared memory")'
""".strip()

POLICY_ONLY = """
npm install
npm ci
npm run build
npm test -- --watch=false
npx tsc --noEmit
yarn install --frozen-lockfile
pnpm -r build
node -e 'console.log(1)'
node --test
deno test
bun test
cargo build --release
cargo test -- --nocapture
cargo fmt && cargo clippy
go build ./...
go test -run TestX ./pkg/...
go vet ./...
make -j4 all
cmake -S . -B build && cmake --build build
ninja -C build
pytest -q -k name
python -m pytest tests/unit --maxfail=1
pip install -e '.[dev]'
uv sync
uv run pytest
poetry install
ruff check --fix .
ruff format .
mypy src
pyright
black .
eslint . --fix
prettier --write .
mvn -q test
./gradlew test
dotnet test
bundle exec rspec
rake test
php vendor/bin/phpunit
composer install
swift build
gcc -O2 -o app main.c && ./app
g++ -std=c++20 a.cpp
curl -sS https://example.com -o page.html
jq '.a' package.json
docker --version
kubectl version --client
terraform fmt
shellcheck run.sh
bash -n run.sh
git fetch origin && git rebase origin/main
git push origin HEAD
gh pr list
""".strip()


def listed(text: str) -> list[str]:
    commands: list[str] = []
    for line in text.splitlines():
        # A here-document is one command of several lines.
        if commands and "<<'END'" in commands[-1] and not commands[-1].endswith("\nEND"):
            commands[-1] += f"\n{line}"
        else:
            commands.append(line)
    return commands


def test_at_least_a_hundred_ordinary_commands_need_no_answer_under_the_default(base: Path) -> None:
    policy = Policy(PermissionsConfig(), roots_in(base))
    commands = [*listed(ANYWHERE), *listed(POLICY_ONLY)]
    asked = [
        command
        for command in commands
        if policy.explain("bash", Effect.EXECUTE, (Subject("command", command),)).verdict != "allow"
    ]
    assert len(set(commands)) >= 100
    assert asked == []


@pytest.fixture
def project(base: Path) -> Path:
    roots = roots_in(base)
    (roots.root / "a.py").write_text("one = 1\n")
    (roots.root / "test_a.py").write_text(
        "import unittest\nfrom a import one\n\n\nclass T(unittest.TestCase):\n"
        "    def test(self):\n        self.assertEqual(one, 1)\n"
    )
    return base


async def test_what_this_machine_can_run_runs_in_the_sandbox(project: Path) -> None:
    roots = roots_in(project)
    shell = confined_shell(roots)
    me = "git -c user.name=a -c user.email=a@b"
    setup = await run(shell, roots, f"git init -q . && git add -A && {me} commit -qm one")
    assert setup.exit_code == 0, setup.output
    failed: list[str] = []
    for command in listed(ANYWHERE):
        restore = "git checkout -q -- . 2>/dev/null"
        end = await run(shell, roots, f"{restore}\n{command}")
        if end.exit_code != 0 or end.planted:
            failed.append(f"{command!r}: {end}")
    assert failed == []


async def test_build_tools_find_a_cache_that_they_may_write(project: Path) -> None:
    roots = roots_in(project)
    names = ("GOCACHE", "UV_CACHE_DIR", "PIP_CACHE_DIR", "npm_config_cache")
    command = "; ".join(f'mkdir -p "${name}" && touch "${name}/x"' for name in names)
    assert (await run(confined_shell(roots), roots, f"set -eu; {command}")).exit_code == 0
