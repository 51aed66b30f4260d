"""Programs of this machine, asked for their help: true lines are never called wrong, invented ones never exist."""

import shutil
from pathlib import Path

import pytest

from knowledge.references.checks import check_command
from knowledge.references.imports import import_references
from knowledge.references.readers.help.command_tree import NoHelp, _ask, _manual_of, _output_of, read_tree
from knowledge.references.readers.python.commands import generate_click
from knowledge.references.readers.reference_drafts import Generated
from knowledge.references.readers.registry import Source
from tests.factories import make_actor
from tests.worlds import keep_world

TRUE = """
git stash
git stash list
git stash pop --index
git stash drop
git config user.name "Ada Lovelace"
git config --global user.email ada@example.com
git config --get remote.origin.url
git add -A
git add README.md docs
git commit -m "First"
git commit --amend --no-edit
git commit -am "First"
git log --oneline -5
git log -n 3
git diff --stat
git push origin main
git push --force-with-lease
git pull --rebase
git remote -v
git remote add origin https://example.com/a.git
git rebase -i HEAD~3
git bisect start
git worktree list
git submodule update --init --recursive
git cherry-pick abc1234
git -C /tmp status
git help stash
git rev-parse --show-toplevel
git cat-file -p HEAD
curl -X POST https://example.com
curl -XPOST https://example.com
curl -fsSL https://example.com -o out.html
curl --request PUT --data @body.json https://example.com
curl -H "Accept: text/plain" -d a=b https://example.com
curl --compressed -I https://example.com
curl -u ada:x https://example.com
curl --retry 3 https://example.com
tar -xzf a.tgz
tar -czf a.tgz src docs
tar --extract --file=a.tgz
tar --get --gzip -f a.tgz
tar -tvf a.tar
tar -xf a.tar -C /tmp
tar xzf a.tgz
tar --exclude=node_modules -cf a.tar .
pip install -r requirements.txt
pip install requests flask
pip install -e .
pip install --upgrade pip
pip uninstall -y requests
pip list --outdated
pip config list
pip show requests
pip freeze
openssl x509 -in cert.pem -noout -text
openssl req -new -key key.pem -out request.csr
openssl genrsa -out key.pem 2048
openssl rand -hex 16
openssl md5 README.md
psql -h localhost -U ada -d shop
psql -c "select 1" shop
psql --command="select 1"
celery -A shop worker -l info
celery --app=shop beat
celery -A shop inspect active
npm install
npm install --save-dev typescript
npm install -g typescript
npm run build
npm ci
git bisect start
git bisect bad HEAD
git config user.email
git diff --cached
git log --author=ada --since=yesterday | head -5
GIT_PAGER=cat git log -p -2
git -c core.pager=cat diff HEAD~2
git checkout -- README.md
git branch -D old  # it is merged
curl -sS https://example.com > out.html
curl --proxy http://proxy.example https://example.com https://example.org
curl -OJ https://example.com/file
curl --ssl-no-revoke https://example.com
npm i express
npm clean-install
npm run build
npm run test -- --watch
npm uninstall left-pad
npm rm left-pad
pip index versions requests
pip config set global.index-url https://example.org
pip -q install requests
psql shop ada
openssl enc -d -in secret.txt -out plain.txt
docker run -it --rm ubuntu bash -c ls
docker --version
docker exec -u root web ls -la /
docker build .
kubectl -n kube-system get pods
kubectl apply -f deploy.yaml
kubectl get pods -n prod -o wide
kubectl create -f pod.json
systemctl restart nginx
systemctl --user start pipewire
systemctl list-units --type=service
apt-get install -y curl
apt install nginx
celery -A shop inspect active
ls -la .
grep -rn needle src
""".strip().splitlines()

INVENTED = """
git stsh
git stash everything
git stash --melt
git frobnicate
git commit-all
git undo HEAD
git remote polish origin
git config --galaxy user.name
git add --everywhere
curl --teleport https://example.com
curl -X POST --jsonify https://example.com
curl
tar --sparkle -f a.tar
tar -xqf a.tgz
pip instal requests
pip config melt
pip upgrade requests
pip install --yes-please requests
openssl x510 -in cert.pem
openssl x509 --sparkle
openssl encrypt file.txt
psql --sing
celery -A shop dance
celery juggle
npm insatll
npm install --sparkle-now
npm build-all
docker contianer ls
docker ps --everyone
docker compse up
kubectl get-pods
kubectl aply -f deploy.yaml
kubectl -n prod fetch pods
systemctl reanimate nginx
systemctl --loudly restart nginx
apt-get instal-all nginx
git log --oneline | git frobnicate
curl -o --teleport https://example.com
pip install -r --sparkle requirements.txt
ls --everything
grep --needle-in haystack
""".strip().splitlines()

PROGRAMS = ["git", "curl", "tar", "openssl", "psql", "pip", "npm", "docker", "kubectl", "systemctl", "apt-get", "apt",
            "ls", "grep"]  # fmt: skip
ASKED_ABOUT_ALL = {"curl", "tar", "psql", "ls", "grep"}
# Each way in which programs tell of themselves; `make torture` asks all of them.
ASKED_EACH_TIME = ["git", "curl", "tar"]


def _help_of(name: str, folder: Path) -> Generated:
    """What a program says of itself, and of those of its commands that a line names: each takes a start to ask."""
    named = {word for line in (*TRUE, *INVENTED) if line.split()[0] == name for word in line.split()}
    command = [shutil.which(name)]

    def ask(words):
        if words and words[0] not in named and name not in ASKED_ABOUT_ALL:
            raise NoHelp("not asked here")
        return _ask(command, words, folder)

    def manual(words):
        return _manual_of([name, *words], folder) if not words or words[0] in named else ""

    return read_tree(name, ask, run=lambda words: _output_of([*command, *words], folder), manual=manual)


@pytest.fixture(scope="module", params=["some", pytest.param("all", marks=pytest.mark.torture)])
def programs(request, tmp_path_factory):
    """What the programs of this machine say of themselves; asked once, outside of any transaction."""
    folder = tmp_path_factory.mktemp("help")
    names = PROGRAMS if request.param == "all" else ASKED_EACH_TIME
    generated = {name: _help_of(name, folder) for name in names if shutil.which(name)}
    generated["celery"] = generate_click(Source("celery.bin.celery:celery"))
    return generated


@pytest.fixture(scope="module")
def asker(programs, django_db_setup, django_db_blocker):
    """A curator of a BigMind where the programs of this machine are documented."""

    def document():
        curator = make_actor(curator=True)
        for name, made in programs.items():
            import_references(
                curator, collection=name, drafts=list(made.drafts), source=name, completeness=made.completeness
            )
        return curator

    with keep_world(django_db_blocker, document) as curator:
        yield curator, set(programs)


@pytest.mark.django_db
def test_true_lines_are_never_called_wrong_and_invented_ones_never_exist(asker):
    curator, programs = asker
    verdicts = {
        line: check_command(curator, command=line).verdict for line in (*TRUE, *INVENTED) if line.split()[0] in programs
    }

    assert len(verdicts) >= 60
    true = [line for line in TRUE if line in verdicts]
    existing = [line for line in true if verdicts[line] == "exists"]
    wronged = {line: verdicts[line] for line in true if verdicts[line] not in ("exists", "cannot_tell")}
    accepted = [line for line in INVENTED if verdicts.get(line) == "exists"]
    assert accepted == []
    assert len(wronged) * 20 <= len(true), wronged
    assert len(existing) * 10 >= len(true) * 8, {line: verdicts[line] for line in true if line not in existing}


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        ("git stash list", "exists"),
        ("git stsh", "does_not_exist"),
        ("git stash everything", "cannot_tell"),
        ("curl --teleport https://example.com", "unknown_option"),
        ("celery juggle", "does_not_exist"),
        ("celery -A shop worker -l info", "exists"),
    ],
)
@pytest.mark.django_db
def test_a_list_that_is_whole_says_what_is_not_in_it(asker, line, verdict):
    curator, _ = asker

    assert check_command(curator, command=line).verdict == verdict


def test_git_is_asked_for_all_its_commands(programs):
    names = {draft.name for draft in programs["git"].drafts}

    assert {"git stash", "git config", "git rev-parse", "git stash drop", "git remote set-url"} <= names
    assert len(names) > 140
    assert "git format-pack" not in names


def test_curl_is_asked_for_all_its_options(programs):
    if "curl" not in programs:
        pytest.skip("no curl on this machine")
    (curl,) = programs["curl"].drafts
    forms = {form for option in curl.command.options for form in (option.name, option.short, *option.others)}

    assert {"-X", "--request", "--retry", "--compressed", "-u"} <= forms
    assert len(curl.command.options) > 200
    assert [argument.name for argument in curl.command.arguments] == ["<url>"]
