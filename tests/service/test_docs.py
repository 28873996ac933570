"""The commands of docs/guide/serving.md are typed as they stand there."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import rankfill as rf

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "serving.md"


def commands():
    text = "\n".join(re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL))
    return [line[2:] for line in text.splitlines() if line.startswith("$ ")]


def test_every_command_is_answered(tmp_path, monkeypatch, serving):
    club = rf.synthetic.film_club()
    monkeypatch.chdir(tmp_path)
    users, items = club.ratings.users.ids(club.ratings.user_indices), club.ratings.items.ids(club.ratings.item_indices)
    rows = zip(users, items, club.ratings.values, strict=True)
    Path("ratings.csv").write_text("user,item,rating\n" + "".join(f"{u},{i},{v:g}\n" for u, i, v in rows))
    Path("quickstart").mkdir()
    titles = [f'{item},"{title}"\n' for item, title in club.titles.items()]
    Path("quickstart/titles.csv").write_text("item,title\n" + "".join(titles))
    fit, serve, *asked = commands()
    assert len(asked) > 10
    from rankfill.cli import run

    assert run(shlex.split(fit)[1:]) == 0
    model, *options = shlex.split(serve)[2:]
    state = options.pop(options.index("--state") + 1)
    options.remove("--state")
    with serving(tmp_path / state, model, *options) as running:
        for command in asked:
            words = shlex.split(command.replace("http://127.0.0.1:8000", running.address))
            found = subprocess.run([*words, "--fail-with-body"], capture_output=True, text=True, check=False)
            assert found.returncode == 0, f"{command}: {found.stdout}"
            assert command.endswith("/metrics") or json.loads(found.stdout)
