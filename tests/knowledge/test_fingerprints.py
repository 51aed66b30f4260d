"""Fingerprints of errors: the same for the same error with other values, another one for another error."""

import pytest

from knowledge.lessons.fingerprints import error_in, errors_in
from knowledge.lessons.fixes import fix_in

PYTHON = """\
2026-01-24 10:00:01,123 ERROR app: request failed
Traceback (most recent call last):
  File "/srv/app/releases/20260124/shop/orders.py", line 120, in place_order
    item = items[key]
  File "/usr/lib/python3.11/site-packages/store/x.py", line 5, in read
KeyError: 'user_123'
"""
JAVA = """\
Exception in thread "main" java.lang.RuntimeException: wrapped
\tat com.acme.Main.main(Main.java:12)
Caused by: java.lang.IllegalStateException: Order 123 is closed
\tat com.acme.Orders.close(Orders.java:42)
\tat com.acme.Main.main(Main.java:10)
\t... 5 more
"""
GO = """\
panic: runtime error: index out of range [5] with length 3

goroutine 1 [running]:
main.pick(0xc000012345, 0x3)
\t/home/x/app/main.go:12 +0x1d
main.main()
\t/home/x/app/main.go:20 +0x2a
exit status 2
"""
NODE = """\
TypeError: Cannot read properties of undefined (reading 'map')
    at renderList (/app/src/components/List.tsx:12:5)
    at node:internal/process/task_queues:95:5
"""
NPM = """\
npm ERR! code ERESOLVE
npm ERR! ERESOLVE unable to resolve dependency tree
npm ERR!
npm ERR! Found: react@18.2.0
npm ERR! A complete log of this run can be found in: /home/a/.npm/_logs/2026-01-24T10_00_00_000Z-debug-0.log
"""
BACK_OFF = (
    "Warning  BackOff  2m (x5 over 10m)  kubelet  Back-off restarting failed container web in pod "
    "web-6d4cf56db6-x7x9z_default(1234abcd-12ab-12ab-12ab-1234567890ab)"
)
AGAIN = [
    (PYTHON, PYTHON.replace("20260124/", "20260301/").replace("line 120", "line 99").replace("user_123", "user_9")),
    (PYTHON, PYTHON.replace("/usr/lib/python3.11", "/opt/python3.12/lib/python3.12").replace("x.py", "y.py")),
    (PYTHON, PYTHON.replace("/srv/app/releases/20260124/shop/", "C:\\dev\\shop\\") + "10:00:02 INFO done\n"),
    (JAVA, JAVA.replace("123", "9").replace(":42", ":77").replace("... 5", "... 12")),
    (GO, GO.replace("[5]", "[9]").replace("0xc000012345", "0xc0000aaaaa").replace("goroutine 1 ", "goroutine 17 ")),
    (NODE, f"\x1b[31mUncaught {NODE}\x1b[0m".replace("/app/src", "webpack:///src").replace("12:5", "99:1")),
    (
        "thread 'main' panicked at src/main.rs:4:5:\nindex out of bounds: the len is 3 but the index is 99\n",
        "thread 'tokio-1' panicked at 'index out of bounds: the len is 1 but the index is 5', src/main.rs:9:15",
    ),
    (
        "error[E0308]: mismatched types\n --> src/main.rs:4:18",
        "error[E0308]: mismatched types\n --> src/lib.rs:9:1\nerror: could not compile `shop` due to 1 previous error",
    ),
    (
        "src/a.ts(10,5): error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.",
        "src/b/c.ts:9:1 - error TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.",
    ),
    (
        'ERROR:  duplicate key value violates unique constraint "users_email_key"\nDETAIL:  Key (email)=(a@b.c).',
        '2026-01-01 10:00:00 UTC [123] ERROR:  duplicate key value violates unique constraint "users_email_key"',
    ),
    (
        "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)",
        "ERROR 1045 (28000): Access denied for user 'shop'@'10.0.0.1' (using password: YES)",
    ),
    (NPM, NPM.replace("npm ERR!", "npm error").replace("18.2.0", "17.0.1")),
    (
        "Error: connect ECONNREFUSED 127.0.0.1:5432\n    at TCPConnectWrap.afterConnect [as oncomplete] (node:net:1:1)",
        "web-1  | 2026-01-24T15:30:00.123Z ERROR connect ECONNREFUSED ::1:6543",
    ),
    ("bash: line 3: terraform: command not found", "/bin/bash: line 99: terraform: command not found"),
    (BACK_OFF, BACK_OFF.replace("6d4cf56db6-x7x9z", "7d4cf56dba-aaaaz").replace("x5", "x99").replace("2m", "3s")),
    ("    Reason: OOMKilled\n    Exit Code: 137", "web   0/1   OOMKilled   Exit Code: 137"),
    (
        "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://a.example/z/1",
        "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://b.example/q?id=7",
    ),
    (
        "TimeoutError: Timed out after 30000ms waiting for worker-3 (request 1f0c2a9e-aaaa-4bbb-8ccc-1234567890ab)",
        "TimeoutError: Timed out after 1.5s waiting for worker-12 (request 9f0c2a9e-aaaa-4bbb-8ccc-1234567890ab)",
    ),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/tmpa1b2c3d4/x.csv'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/home/ada/y.csv'",
    ),
    (
        '{"level":"error","time":1,"err":{"stack":"TypeError: pay is not a function\\n    at go (/a/b.js:1:2)"}}',
        "TypeError: pay is not a function\n    at go (/c/b.js:9:9)",
    ),
]
OTHERS = [
    ("ModuleNotFoundError: No module named 'requests'", "ModuleNotFoundError: No module named 'yaml'"),
    ("Request failed with status code 502", "Request failed with status code 404"),
    ("error[E0308]: mismatched types", "error[E0277]: mismatched types"),
    ("PermissionError: [Errno 13] Permission denied: '/x'", "FileNotFoundError: [Errno 2] No such file: '/x'"),
    (NODE, NODE.replace("'map'", "'length'")),
    (NODE, NODE.replace("renderList", "renderCart")),
    (PYTHON, PYTHON.replace("place_order", "cancel_order")),
    ("KeyError: 'DATABASE_URL'", "KeyError: 'SECRET_KEY'"),
    ('relation "orders" does not exist', 'relation "users" does not exist'),
    ("connect ECONNREFUSED 127.0.0.1:1", "connect ETIMEDOUT 127.0.0.1:1"),
    ("ORA-00942: table or view does not exist", "ORA-00904: table or view does not exist"),
    ("bash: terraform: command not found", "bash: kubectl: command not found"),
]


def _fingerprint(text):
    error = error_in(text)
    assert error
    assert error.fingerprint
    return error.fingerprint


@pytest.mark.parametrize(("once", "again"), AGAIN, ids=lambda text: text.split("\n")[0][:30])
def test_the_same_error_with_other_values_has_the_same_fingerprint(once, again):
    assert _fingerprint(once) == _fingerprint(again)


@pytest.mark.parametrize(("one", "other"), OTHERS, ids=lambda text: text.split("\n")[0][:30])
def test_another_error_has_another_fingerprint(one, other):
    assert _fingerprint(one) != _fingerprint(other)


@pytest.mark.parametrize(
    ("log", "headline"),
    [
        (PYTHON.replace("KeyError: 'user_123'", "During\n") + PYTHON.replace("KeyError", "shop.Missing"), "Missing"),
        (JAVA, "IllegalStateException: order <n> is closed"),
        (
            "gcc -c x.c\nx.c:1:2: error: expected expression\nx.c:9:9: error: too few\nmake: *** [x.o] Error 1",
            "expected",
        ),
        ("+ npm ci\n" + NPM + "Error: Process completed with exit code 1.", "ERESOLVE: unable to resolve"),
        ("INFO up\nERROR could not reach the broker\nERROR giving up\n", "could not reach the broker"),
        ("Process exited with code 137", "process exited with code #137"),
    ],
)
def test_of_a_long_log_the_last_exception_decides_else_the_first_error(log, headline):
    error = error_in(log)

    assert error
    assert headline in error.headline


@pytest.mark.parametrize("text", ["", "all is well\n", "Deployed in 12 s.", "\n" * 500])
def test_what_is_no_error_has_no_fingerprint(text):
    assert error_in(text) is None


def test_an_error_that_says_nothing_has_no_fingerprint_of_its_own():
    assert error_in("AssertionError: assert 3 == 4").fingerprint == ""
    assert error_in("RuntimeError").fingerprint == ""


def test_a_lesson_is_about_the_errors_it_quotes_in_blocks_in_code_and_on_lines():
    lesson = f"""After the upgrade the list was empty.

```text
{NODE}```

Before, `KeyError: 'DATABASE_URL'` was seen, and once
error[E0308]: mismatched types
Error handling is described elsewhere; nothing failed there.
"""

    found = [error.headline for error in errors_in(lesson)]

    assert found == [
        "TypeError: cannot read properties of undefined (reading “map”)",
        "KeyError: database_url",
        "E0308: mismatched types",
    ]


@pytest.mark.parametrize(
    ("lesson", "fix"),
    [
        (
            "It fails.\n\n## Fix\n\nClear the cache.\n\n### How\n\nrm -r\n\n## Later\n\nx",
            "Clear the cache.\n\n### How\n\nrm -r",
        ),
        ("It fails.\n\n**Solution:** Pin pnpm 9.\nIn `package.json`.\n\nMore.", "Pin pnpm 9.\nIn `package.json`."),
        ("- **What we do now**: retry once.\n- **Why**: because", "retry once."),
        ("Unused import in handler. Fix: run eslint --fix.", "run eslint --fix."),
        ("## Workaround\n```sh\n# Fix\nx\n```\n", "```sh\n# Fix\nx\n```"),
        ("Fixing things is hard.", ""),
    ],
)
def test_the_fix_is_the_part_that_says_what_to_do(lesson, fix):
    assert fix_in(lesson) == fix
