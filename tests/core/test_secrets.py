"""Secrets in texts: what is caught, what is left alone, what the policy makes of it, and that no message repeats it."""

import random
from time import process_time

import pytest

from bigmind.core.argument_checks import arguments_of, validate_arguments
from bigmind.core.errors import Invalid
from bigmind.core.screening import find_secrets, redact
from bigmind.core.screening.policy import collect_notices
from bigmind.core.vocabulary import Content, Lines, LongText, Query, SharedContent, Tags
from tests.core.benign_corpus import ordinary_texts
from tests.core.secret_corpus import Maker, secrets_in_context

SEEDS = (1, 2, 3)
ADVERSARIAL = (
    "key ", "token=:token=", "secret:", "password ", "password is ", "a://b:c", "eyJ", "eyJaaaaaaaaa.", "ghp_", "sk-a",
    "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "AAAAAAAAAAAAAAAAAAAA\n", "MII", "Bearer ", "curl -u ",
    "mysql x ", "cred a:", "aaaaaaa:bbbbbbbbb@", "_", "a", "api key (", "<token>", "password:\n",
    "SG.aaaaaaaaaaaaaaaaaaaa.", "Private-MAC: a", "aaaaaaaaaaaaaaaa+aaaaaaa\n-----END PRIVATE KEY-----",
)  # fmt: skip
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


@pytest.mark.parametrize("piece", ADVERSARIAL)
def test_time_grows_with_the_length_of_a_text_whatever_is_in_it(piece):
    short, long = (piece * 16384)[:8192], (piece * 65536)[:65536]

    growth = _seconds(long) / max(_seconds(short), 0.002)

    # Eight times the text: linear is 8, quadratic 64.
    assert growth < 28


def _seconds(text):
    best = float("inf")
    for _ in range(2):
        started = process_time()
        find_secrets(text)
        best = min(best, process_time() - started)
    return best


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
        "| User | Password |\n|---|---|\n| root | toor123X |",
        "| admin | Sommer2023! |",
        "Login: opsbot / Sup3rTide2024",
        "pw: Nordlicht_2019! is what the NAS wants (user backup)",
        "Credentials: admin / Winter2024",
        "user/pass: deploy / k33pSafe",
        "u: admin p: harb0urMaster",
        "Log in as qa@acme.io with hunter2Gate",
        "user admin, pass sea-Gull-42",
        "ftp user tidebot with password Quay-Wall-3",
        "SSO fallback account ops@acme.io : Krill-77-Net",
        "admin:Winter2024! works on staging",
        "The account is `deploy` / `N0rthPier!`",
        "test user: kim / Fjord#2023",
        "Zugangsdaten: anna / Leuchtturm9!",
        "[staging] ops@acme.io:Pier9Gate!",
        "ssh ops@10.0.0.5 (pw Pier9Gate)",
        "ES: https://elastic:Qu4yW4ll77@es.internal.example.com:9200",
    ],
)
def test_a_login_is_noticed_however_it_is_written(text: str) -> None:
    assert find_secrets(text)


@pytest.mark.parametrize(
    "text",
    [
        "Login: user / password pairs are stored in Vault",
        "The login page / sign-up page share a form.",
        "| User | Password |\n|---|---|\n| admin | see vault |",
        "login / logout endpoints need CSRF",
        "pass: 141, fail: 0",
        "Login: email / phone",
        "the admin/Dashboard2 route is slow",
        "Roles: admin / editor",
        "Use client / Server2019 for tests",
        "password: required, at least 12 characters",
        "if password1 and password1 != password2: raise",
        "user = get_user(limit=20, status=422)",
        "Login form: LoginForm.tsx:120",
        "accounts/0021_begin_numbers: adds the user table",
    ],
)
def test_what_only_speaks_of_logins_is_none(text: str) -> None:
    assert not find_secrets(text)
