"""Shell lines, taken apart into the commands that they run, without running anything.

Quotes, escapes, operators, redirections, documents (`<<EOF`), substitutions, wrappers (`sudo`, `env`, `xargs`), and
lines handed to a shell (`bash -c`, `eval`, `ssh`) are followed, five deep. What variables, aliases and scripts hold is
not known. Each character is read once for each depth. Hooks run this: it is of the standard library alone.
"""

from __future__ import annotations

# Not from `typing`, whose import each hook would wait for.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DEPTH = 5
MOST_CHARS = 20_000
"""A longer line holds a document or data; what comes after is not looked at."""

EXECS = {"-exec", "-execdir", "-ok", "-okdir"}
SHELLS = {"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"}
KEYWORDS = {"if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "fi", "done", "esac", "time"}
# Programs that run another: their options that take a value, and how many words stand before the other one.
WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("-u -g -p -C -h -R -T -U -D --user --group --prompt --chdir --host", 0),
    "doas": ("-u -C", 0),
    "env": ("-u -C --unset --chdir", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n -p", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "time": ("-f -o", 0),
    "timeout": ("-k -s --kill-after --signal", 1),
    "xargs": ("-I -n -P -L -d -E -s -a --max-args --max-procs --max-lines --delimiter --arg-file", 0),
    "parallel": ("-j --jobs", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("-a", 0),
    "stdbuf": ("-i -o -e", 0),
    "chroot": ("", 1),
    "flock": ("-w -E", 1),
    "strace": ("-e -o -p -s", 0),
    "npx": ("-p --package", 0),
    "bunx": ("", 0),
    "uvx": ("--from --with -p --python", 0),
    "docker exec": ("-e -w -u --env --workdir --user --env-file", 1),
    "docker run": ("-e -w -u -v -p --env --workdir --user --volume --name --network --env-file --mount", 1),
    "podman exec": ("-e -w -u --env --workdir --user", 1),
    "kubectl exec": ("-n -c --namespace --container --context", 1),
    "uv run": ("--with --extra --group --python -p", 0),
    "poetry run": ("", 0),
    "pipenv run": ("", 0),
    "hatch run": ("", 0),
    "bundle exec": ("", 0),
    "pnpm exec": ("", 0),
    "npm exec": ("", 0),
    "conda run": ("-n -p --name --prefix", 0),
}
SSH_VALUES = "-i -p -l -o -F -J -L -R -D -b -c -E -m -O -S -W -w"


class Command:
    """One command of a line: its words as the program would get them, and the files that the shell writes for it."""

    __slots__ = ("fed", "folder", "is_piped", "variables", "words", "writes")

    def __init__(self) -> None:
        self.words: list[str] = []
        self.variables: list[str] = []
        self.writes: list[str] = []
        self.fed = ""
        self.is_piped = False
        self.folder = ""


class _LineReader:
    """Reads one line, a character at a time."""

    def __init__(self, line: str) -> None:
        self.line = line[:MOST_CHARS]
        self.at = 0
        self.commands: list[Command] = []
        self.nested: list[str] = []
        self.command = Command()
        self.word: list[str] | None = None
        self.into = ""  # what the next word is: a file that is written, one that is read, a document's last line
        self.documents: list[tuple[str, Command]] = []

    def read(self) -> list[Command]:
        line, end = self.line, len(self.line)
        while self.at < end:
            char = line[self.at]
            step = _STEPS.get(char)
            if step:
                step(self)
            elif char == "#" and self.word is None:
                self._skip_to_line_end()
            else:
                self._take(char)
        self._end_command()
        return self.commands

    def _take(self, text: str, chars: int = 1) -> None:
        if self.word is None:
            self.word = []
        self.word.append(text)
        self.at += chars

    def _skip_to_line_end(self) -> None:
        end = self.line.find("\n", self.at)
        self.at = len(self.line) if end < 0 else end

    def _end_word(self) -> None:
        if self.word is None:
            return
        text, self.word, into, self.into = "".join(self.word), None, self.into, ""
        if into == "write":
            self.command.writes += [] if text.startswith("&") else [text]
        elif into == "document":
            self.documents.append((text, self.command))
        elif into == "fed":
            self.command.fed = text
        elif not into:
            self.command.words.append(text)

    def _end_command(self) -> None:
        self._end_word()
        self.into = ""
        if self.command.words or self.command.writes:
            self.commands.append(self.command)
        self.command = Command()

    def blank(self) -> None:
        self._end_word()
        self.at += 1

    def newline(self) -> None:
        self._end_command()
        self.at += 1
        for last, command in self.documents:
            begin = self.at
            while self.at < len(self.line):
                end = self.line.find("\n", self.at)
                end = len(self.line) if end < 0 else end
                text, self.at = self.line[self.at : end].strip(), end + 1
                if text == last:
                    break
            command.fed = self.line[begin : self.at]
        self.documents = []

    def operator(self) -> None:
        char, following = self.line[self.at], self.line[self.at + 1 : self.at + 2]
        # `&> file` writes both outputs to one file, and does not end the command.
        if char == "&" and following == ">":
            self._end_word()
            self.at += 1
            return
        if char == "&" and self.word is None and self.into == "write":  # `2>&1`
            self._take(char)
            return
        self._end_command()
        self.command.is_piped = char == "|" and following != "|"
        self.at += 2 if following == char or (char, following) == ("|", "&") else 1

    def bracket(self) -> None:
        self._end_command()
        self.at += 1

    def output(self) -> None:
        if self.word and "".join(self.word).isdigit():
            self.word = None
        self._end_word()
        if self.line.startswith(">(", self.at):
            self._substitute()
            return
        self.at += 2 if self.line[self.at + 1 : self.at + 2] in {">", "|"} else 1
        self.into = "write"

    def input(self) -> None:
        if self.word and "".join(self.word).isdigit():
            self.word = None
        self._end_word()
        rest = self.line[self.at : self.at + 3]
        if rest.startswith("<("):
            self._substitute()
        elif rest == "<<<":
            self.at, self.into = self.at + 3, "fed"
        elif rest.startswith("<<"):
            self.at, self.into = self.at + (3 if rest == "<<-" else 2), "document"
        else:
            self.at, self.into = self.at + 1, "read"

    def single(self) -> None:
        end = self.line.find("'", self.at + 1)
        end = len(self.line) if end < 0 else end
        self._take(self.line[self.at + 1 : end], end + 1 - self.at)

    def double(self) -> None:
        self._take("")
        line, end = self.line, len(self.line)
        while self.at < end and line[self.at] != '"':
            char = line[self.at]
            if char == "\\" and line[self.at + 1 : self.at + 2] in {'"', "\\", "$", "`", "\n"}:
                self._take(line[self.at + 1].strip("\n"), 2)
            elif line.startswith("$(", self.at):
                self._substitute()
            elif char == "`":
                self.backtick()
            else:
                self._take(char)
        self.at += 1

    def escape(self) -> None:
        following = self.line[self.at + 1 : self.at + 2]
        begun = "".join((self.word or [])[:2])
        if following == "\n":
            self.at += 2
        elif self.word in _BEGIN_PATHS or (begun[1:2] == ":" and begun[0].isalpha()):
            self._take("/")  # a path of Windows
        else:
            self._take(following, 2)

    def dollar(self) -> None:
        if self.line.startswith("$(", self.at):
            self._substitute()
        elif self.line.startswith("$'", self.at):
            self.at += 1
            self.single()
        else:
            self._take("$")

    def backtick(self) -> None:
        end = self.line.find("`", self.at + 1)
        end = len(self.line) if end < 0 else end
        self.nested.append(self.line[self.at + 1 : end])
        self._take("$()", end + 1 - self.at)

    def _substitute(self) -> None:
        """Note the commands between brackets, and go on behind them."""
        line, at, depth, quote = self.line, self.at + 2, 1, ""
        begin = at
        while at < len(line) and depth:
            char = line[at]
            if quote:
                at += char == "\\" and quote == '"'
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            elif char == "\\":
                at += 1
            else:
                depth += (char == "(") - (char == ")")
            at += 1
        self.nested.append(line[begin : at - 1] if not depth else line[begin:])
        self._take("$()", at - self.at)


_BEGIN_PATHS = (["."], [".", "."])
_STEPS = {
    " ": _LineReader.blank,
    "\t": _LineReader.blank,
    "\r": _LineReader.blank,
    "\n": _LineReader.newline,
    ";": _LineReader.operator,
    "&": _LineReader.operator,
    "|": _LineReader.operator,
    "(": _LineReader.bracket,
    ")": _LineReader.bracket,
    ">": _LineReader.output,
    "<": _LineReader.input,
    "'": _LineReader.single,
    '"': _LineReader.double,
    "\\": _LineReader.escape,
    "$": _LineReader.dollar,
    "`": _LineReader.backtick,
}


def split_words(line: str) -> list[str]:
    """Return the words of one command as a shell reads them."""
    commands = _LineReader(line).read()
    return commands[0].words if commands else []


def read_commands(line: str, folder: str = "", depth: int = 0) -> list[Command]:
    """Return every command that a line runs, as far as the line itself says; those within others come after them."""
    reader = _LineReader(line)
    found: list[Command] = []
    before: Command | None = None
    for command in reader.read():
        is_first = not found
        _drop_keywords(command)
        command.folder = folder
        found.append(command)
        if depth < DEPTH:
            found += _within(command, before, depth)
        folder = _folder_after(command, folder) if not command.is_piped or is_first else folder
        before = command
    if depth < DEPTH:
        for text in reader.nested:
            found += read_commands(text, folder, depth + 1)
    return found


def program_of(word: str) -> str:
    """Return the name of a program without its folder, and without what Windows adds."""
    name = word.replace("\\", "/").rpartition("/")[2].lower()
    return name[:-4] if name.endswith((".exe", ".cmd", ".bat")) else name


def _drop_keywords(command: Command) -> None:
    words = command.words
    first = 0
    while first < len(words) and (words[first] in KEYWORDS or _is_assignment(words[first])):
        command.variables += [words[first]] if words[first] not in KEYWORDS else []
        first += 1
    command.words = words[first:]


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _folder_after(command: Command, folder: str) -> str:
    words = command.words
    if len(words) < 2 or words[0] not in {"cd", "pushd"}:
        return folder
    target = words[-1].replace("\\", "/")
    return target if target.startswith(("/", "~")) or target[1:2] == ":" or not folder else f"{folder}/{target}"


def _within(command: Command, before: Command | None, depth: int) -> Iterator[Command]:
    """Yield the commands that one runs: a wrapped one, a line for a shell, those of `find -exec`."""
    words = command.words
    if not words:
        return
    name = program_of(words[0])
    text = _line_for_shell(name, words)
    if text is None and name in SHELLS and not [word for word in words[1:] if not word.startswith("-")]:
        # Of `echo … | sh` the shell runs what is printed.
        piped = before.words[1:] if command.is_piped and before and before.words[:1] in (["echo"], ["printf"]) else []
        text = command.fed or " ".join(word for word in piped if not word.startswith("-"))
    if text:
        yield from read_commands(text, command.folder, depth + 1)
    for inner in _words_inside(name, words):
        one = Command()
        one.words, one.folder, one.fed = inner, command.folder, command.fed
        _drop_keywords(one)
        if one.words:
            yield one
            if depth < DEPTH:
                yield from _within(one, None, depth + 1)


def _line_for_shell(name: str, words: list[str]) -> str | None:
    if name == "eval":
        return " ".join(words[1:])
    if name in SHELLS or name in {"su", "powershell", "pwsh", "cmd"}:
        for place, word in enumerate(words[1:], 1):
            lower = word.lower()
            # `-c` may be written together with other letters: `bash -lc`.
            is_short = word.startswith("-") and not word.startswith("--") and len(word) < 6 and word.endswith("c")
            if is_short or lower in {"-command", "/c", "--command"}:
                return words[place + 1] if name in SHELLS or name == "su" else " ".join(words[place + 1 :])
    if name == "ssh":
        rest = _after_options(words[1:], SSH_VALUES)[1:]
        return " ".join(rest) if rest else None
    if name == "watch":
        return " ".join(_after_options(words[1:], "-n --interval"))
    return None


def _words_inside(name: str, words: list[str]) -> Iterator[list[str]]:
    if name.startswith("python") and "-m" in words:
        yield words[words.index("-m") + 1 :]
        return
    if name == "find":
        # Each ends where the next one begins: were one inside another, a line of 400 characters would run 300,000.
        starts = [place for place, word in enumerate(words) if word in EXECS]
        for start, following in zip(starts, [*starts[1:], len(words)], strict=False):
            rest = words[start + 1 : following]
            end = next((place for place, word in enumerate(rest) if word in {";", "+"}), len(rest))
            yield rest[:end]
        return
    if name == "docker" and words[1:2] == ["compose"] and words[2:3]:
        words = [words[0], *words[2:]]
    for key, begin in ((name, 1), (f"{name} {words[1]}" if len(words) > 1 else "", 2)):
        if key in WRAPPERS:
            values, before = WRAPPERS[key]
            rest = _after_options(words[begin:], values)[before:]
            yield rest[1:] if rest[:1] == ["--"] else rest


def _after_options(words: list[str], values: str) -> list[str]:
    """Return what follows the options of a wrapper, and the variables that `env` and `sudo` are given."""
    taking, at = values.split(), 0
    while at < len(words) and (words[at].startswith("-") or _is_assignment(words[at])):
        if words[at] == "--":
            return words[at + 1 :]
        at += 2 if words[at] in taking else 1
    return words[at:]
