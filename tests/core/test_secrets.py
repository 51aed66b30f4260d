"""Secrets in texts: what is caught, what is left alone, what the policy makes of it, and that no message repeats it."""

import random
from base64 import b64encode

import pytest

from bigmind.core.argument_checks import arguments_of, validate_arguments
from bigmind.core.argument_types import Content, Lines, LongText, Query, SharedContent, Tags
from bigmind.core.errors import Invalid
from bigmind.privacy.screening import find_secrets, redact
from bigmind.privacy.screening.policy import collect_notices
from tests.core.benign_corpus import ordinary_texts
from tests.core.secret_corpus import Maker, secrets_in_context

SEEDS = (1, 2, 3)
MAKER = Maker(7)
AWS_KEY = "AKIA" + MAKER.of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)
TOLD = f"The backups run as {AWS_KEY} since May."


def remember(
    actor, *, text: Content = "", note: LongText = "", lines: Lines | None = None, tags: Tags | None = None,
    shared: SharedContent = "x", query: Query = "x",
):  # fmt: skip
    """Remember."""


def _kinds(text):
    return [secret.kind for secret in find_secrets(text)]


@pytest.mark.parametrize("seed", SEEDS)
def test_at_least_95_percent_of_secrets_in_context_are_caught_and_gone_when_redacted(seed):
    corpus = list(secrets_in_context(seed))

    missed = [case for case in corpus if case.secret in redact(case.text)]

    assert len(corpus) >= 300
    assert len(missed) <= 0.05 * len(corpus), [(case.name, case.text[:60]) for case in missed]


@pytest.mark.parametrize("seed", SEEDS)
def test_at_most_1_percent_of_ordinary_texts_are_flagged(seed):
    texts = list(ordinary_texts(seed, 1400))

    flagged = [(text, _kinds(text)) for text in texts if find_secrets(text)]

    assert len(flagged) <= 0.01 * len(texts), flagged


BESIDE = (
    "todo-{}", "{}-todo", "your-{}", "example-{}", "{}example", "changeme-{}", "xxxx{}", "{}xxxx", "***{}", "...{}",
    "{}…", "dummy{}", "sample_{}", "foobar{}", "hidden-{}", "masked:{}", "removed-{}", "00000000{}", "deadbeef{}",
    "fixme{}",
    "not-a-real-{}", "replace-me-{}", "{}_here", "{}-goes-here", "placeholder{}", "lorem-{}",
)  # fmt: skip


@pytest.mark.parametrize("said", ["pw: {}", "password: {}", "the password is {}", "DB_PASSWORD={}", "API_KEY={}"])
@pytest.mark.parametrize("beside", BESIDE)
def test_a_word_of_documentation_beside_a_secret_hides_none(said, beside):
    for secret in ("Tr0ub4dor&3", "kZ9!vQ2m#Lp7", "hunter42Xy", "9f8Q7w6E5r4T3y2U"):
        if find_secrets(said.format(secret)):
            assert find_secrets(said.format(beside.format(secret))), beside


@pytest.mark.parametrize(
    "value",
    [
        "your-api-key-123", "xxxxxxxx1234", "****abcd", "sk-...abcd", "changeme123", "example-password-1", "todo",
        "<todo>",
    ],
)  # fmt: skip
def test_what_only_stands_for_a_secret_is_none(value):
    assert not find_secrets(f"password: {value}")
    assert not find_secrets(f"API_KEY={value}")


def test_a_secret_is_told_by_kind_and_place_and_never_by_its_text():
    (secret,) = find_secrets(TOLD)

    assert secret.kind == "AWS access key"
    assert TOLD[secret.start : secret.end] == AWS_KEY
    assert AWS_KEY not in repr(secret)
    assert redact(TOLD) == "The backups run as [secret removed: AWS access key] since May."


def test_the_secret_that_belongs_to_a_cloud_key_is_found_beside_it():
    secret = MAKER.of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/+", 40)

    assert _kinds(f"{AWS_KEY}\n{secret}\n") == ["AWS access key", "AWS secret access key"]


@pytest.mark.parametrize("names", ["secret ", "password=", "pw(", "the token of the page "])
def test_a_secret_behind_thousands_of_names_of_secrets_is_found(names):
    text = names * 2_000 + "\npassword: Tr0ub4dor&3\n" + names * 2_000

    assert [text[secret.start : secret.end] for secret in find_secrets(text)] == ["Tr0ub4dor&3"]


def test_only_a_key_of_ours_whose_checksum_holds_is_one():
    key = MAKER.own_key()
    mistyped = key[:-1] + ("A" if key[-1] != "A" else "B")

    assert _kinds(f"Connect with {key}.") == ["BigMind key"]
    assert "BigMind key" not in _kinds(f"Connect with {mistyped}.")


def test_a_password_with_signs_of_its_own_is_removed_from_an_address_whole():
    assert redact("postgres://app:p@ss:w0rd9@db.internal/shop") == (
        "postgres://app:[secret removed: password in a postgres address]@db.internal/shop"
    )


@pytest.mark.parametrize("kind", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"])
def test_a_private_key_is_one_secret_and_a_mention_of_its_frame_is_none(kind):
    key = MAKER.pem(kind)

    assert redact(f"Before.\n{key}\nAfter.") == "Before.\n[secret removed: private key]\nAfter."
    assert _kinds(f"Files that begin with -----BEGIN {kind}----- are refused by the hook.") == []


def _pem_lines() -> list[str]:
    return MAKER.pem("RSA PRIVATE KEY").replace("\n-----END", f"\n{MAKER.base64(8)}\n-----END").splitlines()[1:]


PGP = [MAKER.base64(48) for _ in range(30)] + [
    MAKER.base64(9),
    "=" + MAKER.base64(3),
    "-----END PGP PRIVATE KEY BLOCK-----",
]
PUTTY = [MAKER.base64(48) for _ in range(14)] + [MAKER.base64(6), "Private-MAC: " + MAKER.of("0123456789abcdef", 64)]


@pytest.mark.parametrize("lines", [_pem_lines(), PGP, PUTTY], ids=["PEM", "PGP", "PuTTY"])
@pytest.mark.parametrize(
    "between", ["\n", "\r\n", "\\n", "\\r\\n", "\\\\n", " ", "\n    ", "\n> ", '" +\n  "', '\\n" +\n"']
)
def test_of_a_private_key_whose_beginning_was_cut_off_nothing_is_left(lines: list[str], between: str) -> None:
    whole = between.join(lines)

    assert redact(f"What is left: {whole} Keep it.") == "What is left: [secret removed: private key] Keep it."
    for cut in range(1, len(lines[0]) + 40, 7):
        assert redact(whole[cut:]).lstrip('n\\"+> \r\n') == "[secret removed: private key]"


def test_private_lines_of_putty_are_removed_with_the_frame_as_a_whole() -> None:
    frame = "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nComment: me\nPublic-Lines: 2\nAAAAB3NzaC1yc2EA\nAAAD"
    text = "\n".join([frame, "Private-Lines: 15", *PUTTY])

    left = redact(text)

    assert not [line for line in PUTTY if line in left]


@pytest.mark.parametrize("between", ["\n", "\r\n", "\\n", " ", "\n> ", '\\n" +\n"'])
@pytest.mark.parametrize(
    "begins", ["PuTTY-User-Key-File-3: ssh-rsa", "Private-Lines: 15"], ids=["at its top", "within"]
)
def test_private_lines_of_putty_are_removed_where_the_file_was_cut_before_its_end(begins: str, between: str) -> None:
    frame = ["PuTTY-User-Key-File-3: ssh-rsa", "Encryption: none", "Comment: me", "Public-Lines: 2", "AAAAB3NzaC1yc2EA"]
    whole = [*frame, "AAAD", "Private-Lines: 15", *PUTTY]

    left = redact(between.join(whole[whole.index(begins) : -2]))

    assert not [line for line in PUTTY if line in left]


@pytest.mark.parametrize(
    "text",
    [
        "It ends with -----END PRIVATE KEY-----.",
        "https://example.com/some/very/long/path/that/leads/to/where/it/is ends with -----END PRIVATE KEY-----",
        "Misunderstandings about internationalization and telecommunications\n-----END PRIVATE KEY-----",
        "The line Private-MAC: 0011 is the last one of a file of PuTTY.",
    ],
)
def test_an_end_of_a_private_key_that_is_only_mentioned_is_none(text: str) -> None:
    assert _kinds(text) == []


def test_any_text_can_be_screened_and_what_is_left_has_no_secret_more():
    chosen = random.Random(5)
    alphabet = "aA1 :=\"'@/.-_\n\\{}<>$é\u0130\u200b🧠passwordkeytoken"
    for _ in range(500):
        text = "".join(chosen.choices(alphabet, k=200))
        for secret in find_secrets(text):
            assert 0 <= secret.start < secret.end <= len(text)


def test_by_default_a_personal_text_is_stored_as_it_is_and_the_caller_is_told():
    with collect_notices() as notices:
        taken = validate_arguments(remember, {"text": TOLD})

    assert taken["text"] == TOLD
    assert len(notices) == 1
    assert "AWS access key" in notices[0]
    assert "text" in notices[0]
    assert AWS_KEY not in notices[0]
    assert notices[0].isascii()


@pytest.mark.parametrize(
    ("argument", "sent", "kept"),
    [
        ("text", TOLD, redact(TOLD)),
        ("note", TOLD, redact(TOLD)),
        ("lines", ["Fine.", TOLD], ["Fine.", redact(TOLD)]),
        ("tags", [AWS_KEY], ["[secret removed: AWS access key]"]),
        ("query", TOLD, TOLD),
    ],
)
def test_texts_can_be_stored_without_their_secrets_and_queries_are_left_alone(settings, argument, sent, kept):
    settings.SECRETS_POLICY = "redact"

    with collect_notices() as notices:
        taken = validate_arguments(remember, {argument: sent})

    assert taken[argument] == kept
    assert bool(notices) == (argument != "query")


def test_a_text_with_a_secret_can_be_refused_without_repeating_it(settings):
    settings.SECRETS_POLICY = "block"

    with pytest.raises(Invalid) as refusal:
        validate_arguments(remember, {"text": TOLD})

    assert refusal.value.problems[0]["field"] == "text"
    assert "AWS access key" in str(refusal.value)
    assert "Leave it out" in str(refusal.value)
    assert AWS_KEY not in str(refusal.value) + str(refusal.value.problems) + str(refusal.value.__cause__)


@pytest.mark.parametrize("policy", ["warn", "redact", "block"])
def test_a_text_for_others_is_refused_whatever_the_policy(settings, policy):
    settings.SECRETS_POLICY = policy

    with pytest.raises(Invalid, match="shared holds what looks like a secret"):
        validate_arguments(remember, {"shared": TOLD})


def test_what_is_read_back_is_never_screened(settings):
    settings.SECRETS_POLICY = "block"

    stored = arguments_of(remember).model_validate({"text": TOLD})

    assert stored.text == TOLD


@pytest.mark.parametrize(
    "text",
    [
        "Staging login for the reviewers: user `reviewer@acme.io`, password `Harbour-7-Gate!`",
        "| system | user | pw |\n|---|---|---|\n| pricing-db | pricing_admin | t1deT4ble#99 |",
        "| User | Password |\n|---|---|\n| root | toor123X |", "| admin | Sommer2023! |",
        "Login: opsbot / Sup3rTide2024", "pw: Nordlicht_2019! is what the NAS wants (user backup)",
        "Credentials: admin / Winter2024", "user/pass: deploy / k33pSafe", "u: admin p: harb0urMaster",
        "Log in as qa@acme.io with hunter2Gate", "user admin, pass sea-Gull-42",
        "ftp user tidebot with password Quay-Wall-3", "SSO fallback account ops@acme.io : Krill-77-Net",
        "admin:Winter2024! works on staging", "The account is `deploy` / `N0rthPier!`", "test user: kim / Fjord#2023",
        "Zugangsdaten: anna / Leuchtturm9!", "[staging] ops@acme.io:Pier9Gate!", "ssh ops@10.0.0.5 (pw Pier9Gate)",
        "ES: https://elastic:Qu4yW4ll77@es.internal.example.com:9200",
    ],
)  # fmt: skip
def test_a_login_is_noticed_however_it_is_written(text: str) -> None:
    assert find_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "Login: user / password pairs are stored in Vault", "The login page / sign-up page share a form.",
        "| User | Password |\n|---|---|\n| admin | see vault |", "login / logout endpoints need CSRF",
        "pass: 141, fail: 0", "Login: email / phone", "the admin/Dashboard2 route is slow", "Roles: admin / editor",
        "Use client / Server2019 for tests", "password: required, at least 12 characters",
        "if password1 and password1 != password2: raise", "user = get_user(limit=20, status=422)",
        "Login form: LoginForm.tsx:120", "accounts/0021_begin_numbers: adds the user table",
    ],
)  # fmt: skip
def test_what_only_speaks_of_logins_is_none(text: str) -> None:
    assert not find_secrets(text)


def _in_base64(frame: str) -> str:
    return b64encode(MAKER.pem(frame).encode()).decode()


ENCODED = _in_base64("PRIVATE KEY")
SIGNATURE = MAKER.of("0123456789abcdef", 64)
PHRASE = "ocean violin marble garden yellow candle forest bridge silver window winter harbor"
RANDOM = "kJ8dK2mQz7Lw4XvR9tYbN3pQeUiO5aSdF6gH"
FRAMELESS = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" + RANDOM + RANDOM


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("The api_key: kJhGfDsAqWeRtYuIoPzXcVbNm", "kJhGfDsAqWeRtYuIoPzXcVbNm"),
        ("DB_PASSWORD=83920174", "83920174"),
        ("DB_PASSWORD=Harbour774", "Harbour774"),
        ("DB_PASSWORD=kJhGfDsAqWeRtYuIoP", "kJhGfDsAqWeRtYuIoP"),
        ("DB_PASSWORD=dragon7-lake", "dragon7-lake"),
        ("Zugangsdaten: anna / Winter2024", "Winter2024"),
        ("| User | Note | Password |\n|---|---|---|\n| root | | toor123X |", "toor123X"),
        ("| admin | Pass-Harbour9! |", "Pass-Harbour9!"),
        ("| ops@acme.io | Harbour-9! |", "Harbour-9!"),
        ("admin mdp: Quai9-b", "Quai9-b"),
        ("admin mdp Quai9-b!", "Quai9-b!"),
        ("mail ops@acme.io mdp Quai9-b", "Quai9-b"),
        ("Login: opsbot - Sup3rTide2024", "Sup3rTide2024"),
        ("Login: opsbot ; Sup3rTide2024", "Sup3rTide2024"),
        ("Log in as the operator with Harbour9!", "Harbour9!"),
        ("İİİİ password: Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("İ PASSWORD=Tr0ub4dor&3", "Tr0ub4dor&3"),
        ('password: "sea gull 42x17!"', "sea gull 42x17!"),
        ('password: "sea gull 4k2x!"', "sea gull 4k2x!"),
        ("Use Basic b3BzOkhhcmJvdXI5IQ== here.", "b3BzOkhhcmJvdXI5IQ=="),
        ("Authorization: Custom kJ8dK2mQz7Lw4XvR9tYb", "kJ8dK2mQz7Lw4XvR9tYb"),
        (f"https://b.s3.amazonaws.com/x?X-Amz-Signature={SIGNATURE}", SIGNATURE),
        ("https://kJ8dK2mQz7Lw4XvR9tYb3@git.internal/r.git", "kJ8dK2mQz7Lw4XvR9tYb3"),
        ("Google app password: qbcd efgh ijkl mnop", "qbcd efgh ijkl mnop"),
        (f"seed phrase: {PHRASE}", PHRASE),
        ("DB_PASSWORD=Harbour=9x!", "Harbour=9x!"),
        ("See password Harbour774 there.", "Harbour774"),
        ("See password harbour774lighthouse there.", "harbour774lighthouse"),
        ("client_secret: Harbour774", "Harbour774"),
        ("The token is kJ8dK2mQz7Lw4XvR9t", "kJ8dK2mQz7Lw4XvR9t"),
        ("The client secret is Harbour-77442", "Harbour-77442"),
        (f"x {FRAMELESS}", FRAMELESS),
        (f"tls.pem: {ENCODED}", ENCODED),
    ],
    ids=lambda text: text[:30],
)
def test_a_secret_is_removed_whole_and_nothing_beside_it(text: str, secret: str) -> None:
    assert [text[found.start : found.end] for found in find_secrets(text)] == [secret]


@pytest.mark.parametrize(
    "text",
    [
        "POSTGRES_PASSWORD=password1",
        "DB_PASSWORD=aaaaaaa1",
        "apiKey = goToMyAppUrl",
        "api_key: XMLHTTPRequestJSONParser",
        "password = settings2.database.password",
        "password: OPS_V2_LOGIN",
        "password=abcdef123456",
        "token: abcdefghijklmnopqrstuvwxyz0123456789",
        "password = dbPassword1",
        "api_key: v2beta9",
        "Send the key, such as EXAMPLE7Kq2vN8xR4tW9zB3mD6fH1jL5, with each call.",
        "The token in the picture is AAAAAAAABBBBBBBBccccccccdddd1122.",
        "How keys are rotated is told in Guides-Rotate-Keys-sha256-TLS12-Overview.",
        "Each key is read by src/Ops4/V2x/Keys9a/Store3b/Reader7 once.",
        "Try curl -u user:x1y2 https://localhost/",
        "password: /run/secrets/db1",
        "password: 20241127-093015",
        "password: yes+no",
        "pw: 10*60*60*24",
        "Log in on the host / Server2019 only.",
        "| Benutzer | Kennwort_2024 |\n|---|---|\n| anna | siehe Tresor |",
        "| What to do | Who |\n|---|---|\n| Change the password before you hand it over | Ann |\n| node-7b | Bob |",
        "| Sprint9! | done by | admin |",
        "| Service | Password rotated |\n|---|---|\n| db | v1.2 |",
        "| Service | Password rotated |\n|---|---|\n| db | 20241127 |",
        "| account plan | Sprint9! |",
        "| User | Password |\n|---|---|\n| root | ${ROOT_LOGIN1} |",
        "| User | Password |\n|---|---|\n| root | LastPass |",
        "Sign-in page / i18n:Login-title is missing",
        "The root cause, p: Chapter9-b",
        "The admin password page Form9-b opens",
        "- Release9-b of the user service",
        "The admin area - Release9-b",
        "Open the account, user/login: Form9-b",
        "Ask ops@acme.io about Release9-b",
        "with Release9-b the login changed",
        "Log in on the host with Chrome9-b",
        "The admin page opens with Harbour9!",
        "Login: form / V2-b",
        "Login: email / Sign-Up",
        "Login: mail / Ada9@acme.io",
        "Login: ops / $OPS_Pass1",
        "| admin | (see #12) |",
        f"The token is explained in {'a long chapter about lists ' * 4}before {RANDOM}.",
        f"These are key points:\n{RANDOM}",
        "Use Basic b3BzOnNlY3JldA== here.",
        "Use Basic ZGVwbG95OmRlcGxveQ== here.",
        "Use Basic b3BzOng5 here.",
        "Use Basic AWE6YmNk here.",
        "Use Basic YTpiAWNk here.",
        "The form is ://user:pass1word@host.",
        "https://kJ8dK2mQz7Lw4XvR9tYb3@o1.ingest.sentry.io/42",
        "https://example.com:8443/@ops/page",
        "postgres://deploy:deploy@db/x",
        "redis://x:q9@cache",
        "The app token: used once each hour",
        "The app asks people for it. Password: four long word here",
        "recovery phrase: write down these twelve words and keep them with your other papers safe",
        'token: "scope=read9Kq2x"',
        "api_key: user:42:profile:v2x9k",
        'password: "see RFC-99999x for more details"',
        'password: "documentation-of-the-customer-portal RFC-99999x here"',
        'password: "8+ letters or digits"',
        'token: "see RFC-48213x"',
        "See password chapter77 of the handbook.",
        "See password Ab1xyz there.",
        "See password Harbour!Gate there.",
        "api_key: Harbour77",
        "client secret: ab12cd",
        "The token is harbour774gate",
        "See token kJ8dK2mQz7Lw4XvR9t there.",
        "See client secret Harbour-77442 there.",
        "GOCSPX-Client-Secret-of-Portal",
        "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",
        "AKIA" + "AABBCCAABBCABACB",
        "eyJhbGciOiJIUzI1NiJ9.example-payload-22.sig",
        "s.getUserNameFromProviders",
        "shop_live_aaaaaaaaaaaaaaaaaaaaaaa1b",
        "`x-----END PRIVATE KEY-----` is the frame.",
        "kJ8dK2mQz7Lw4XvR9\n-----END PRIVATE KEY-----",
        "| admin | #12 |",
        "The client secret is chapter2024.",
        f"tls.crt: {_in_base64('CERTIFICATE')}",
    ],
    ids=lambda text: text[:30],
)
def test_what_only_looks_like_a_secret_is_none(text: str) -> None:
    assert _kinds(text) == []


def test_a_token_in_a_password_is_told_by_its_form() -> None:
    token = "ghp_" + MAKER.of("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789", 36)

    assert _kinds(f"password=deploy:{token}") == ["GitHub token"]
