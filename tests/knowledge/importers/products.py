"""Exports of products with pages, as these products write them, with the irregularities of real ones."""

# ruff: noqa: E501 - products write long lines

import io
import json
import zipfile
from pathlib import Path
from typing import Any

ENTITIES = """<?xml version="1.0" encoding="UTF-8"?>
<hibernate-generic datetime="2024-06-01 10:00:00">
<object class="Space" package="com.atlassian.confluence.spaces">
<id name="id">65537</id>
<property name="name"><![CDATA[Engineering Handbook]]></property>
<property name="key"><![CDATA[ENG]]></property>
<property name="homePage" class="Page" package="com.atlassian.confluence.pages"><id name="id">100</id>
</property>
</object>
<object class="ConfluenceUserImpl" package="com.atlassian.confluence.user">
<id name="key"><![CDATA[4028b881]]></id>
<property name="name"><![CDATA[ada]]></property>
<property name="fullName"><![CDATA[Ada Lovelace]]></property>
</object>
<object class="Label" package="com.atlassian.confluence.labels">
<id name="id">900</id>
<property name="name"><![CDATA[ops]]></property>
</object>
<object class="Labelling" package="com.atlassian.confluence.labels">
<id name="id">901</id>
<property name="label" class="Label" package="com.atlassian.confluence.labels"><id name="id">900</id>
</property>
<property name="content" class="Page" package="com.atlassian.confluence.pages"><id name="id">101</id>
</property>
</object>
%(objects)s
</hibernate-generic>
"""
STORAGE = """<p>Read <ac:link><ri:page ri:content-title="Home" /></ac:link> first,&nbsp;then ask
<ac:link><ri:user ri:userkey="4028b881" /></ac:link>.</p>
<ac:structured-macro ac:name="toc" ac:schema-version="1" ac:macro-id="0a"><ac:parameter ac:name="maxLevel">2</ac:parameter></ac:structured-macro>
<h2>Roll back</h2>
<ac:structured-macro ac:name="warning"><ac:rich-text-body><p>Never on <strong>Fridays</strong>.</p>
<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">bash</ac:parameter>
<ac:plain-text-body><![CDATA[kubectl rollout undo deploy/api
if [[ "$a" < "$b" ]]; then echo "x && y"; fi]] ></ac:plain-text-body></ac:structured-macro></ac:rich-text-body></ac:structured-macro>
<table class="wrapped"><colgroup><col /></colgroup><tbody><tr><th>Step</th><th>Who</th></tr>
<tr><td>Tag</td><td>release | manager</td></tr></tbody></table>
<ac:task-list><ac:task><ac:task-id>1</ac:task-id><ac:task-status>complete</ac:task-status>
<ac:task-body>Announce it</ac:task-body></ac:task>
<ac:task><ac:task-id>2</ac:task-id><ac:task-status>incomplete</ac:task-status><ac:task-body>Watch it</ac:task-body></ac:task></ac:task-list>
<p><ac:image ac:height="250"><ri:attachment ri:filename="flow.png" /></ac:image>
<ac:structured-macro ac:name="status"><ac:parameter ac:name="colour">Green</ac:parameter><ac:parameter ac:name="title">DONE</ac:parameter></ac:structured-macro>
since <time datetime="2024-05-04" /> (<ac:structured-macro ac:name="jira"><ac:parameter ac:name="server">JIRA</ac:parameter><ac:parameter ac:name="key">OPS-17</ac:parameter></ac:structured-macro>)</p>
<ac:structured-macro ac:name="drawio"><ac:parameter ac:name="diagramName">Flow</ac:parameter></ac:structured-macro>
<ac:structured-macro ac:name="expand"><ac:parameter ac:name="title">Details</ac:parameter><ac:rich-text-body><p>Inside.</p></ac:rich-text-body></ac:structured-macro>"""


def confluence_page(
    id: int, title: str, body: str, *, parent: int = 0, extra: str = "", date: str = "2024-05-04"
) -> str:
    """Return the objects of one page of `entities.xml`: body first, as real exports have them in any order."""
    above = f'<property name="parent" class="Page" package="com.atlassian.confluence.pages"><id name="id">{parent}</id></property>'
    inner = body.replace("]]>", "]] >")
    return f"""<object class="BodyContent" package="com.atlassian.confluence.core">
<id name="id">{id}9</id>
<property name="body"><![CDATA[{inner}]]></property>
<property name="content" class="Page" package="com.atlassian.confluence.pages"><id name="id">{id}</id>
</property>
<property name="bodyType">2</property>
</object>
<object class="Page" package="com.atlassian.confluence.pages">
<id name="id">{id}</id>
<property name="position">1</property>
{above if parent else '<property name="parent"/>'}
<property name="title"><![CDATA[{title}]]></property>
<property name="version">3</property>
<property name="lastModifier" class="ConfluenceUserImpl" package="com.atlassian.confluence.user"><id name="key"><![CDATA[4028b881]]></id></property>
<property name="creationDate">2023-01-02 03:04:05.678</property>
<property name="lastModificationDate">{date} 09:30:00.000</property>
<property name="contentStatus"><![CDATA[current]]></property>
{extra}
</object>"""


def confluence(*pages: str) -> bytes:
    """Return an XML export as a zip archive."""
    comment = '<object class="Comment" package="x"><id name="id">7</id></object>'
    entities = ENTITIES % {"objects": "\n".join([*pages, comment])}
    return packed({"entities.xml": entities, "exportDescriptor.properties": "", "attachments/101/1/1": "PNG"})


def usual_space(**change: str) -> bytes:
    """Return the export of a space: a home, a page below it, a version, a draft."""
    original = '<property name="originalVersion" class="Page" package="x"><id name="id">101</id></property>'
    draft = '<property name="contentStatus"><![CDATA[draft]]></property>'
    return confluence(
        confluence_page(100, "Home", "<p>Welcome\x0b home.</p>"),
        confluence_page(101, "Deploys", change.get("deploys", STORAGE), parent=100),
        confluence_page(102, "Deploys", "<p>An earlier version.</p>", extra=original),
        confluence_page(103, "Draft", "<p>Unfinished.</p>", extra=draft),
        *(
            []
            if "without_runbook" in change
            else [confluence_page(104, "Runbook / DB", "<p>Restart it.</p>", parent=101)]
        ),
    )


CONFLUENCE_HTML = """<!DOCTYPE html>
<html><head><title>Engineering Handbook : Deploys</title><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"></head>
<body class="theme-default aui-theme-default"><div id="page"><div id="main" class="aui-page-panel"><div id="main-header">
<div id="breadcrumb-section"><ol id="breadcrumbs"><li class="first"><span><a href="index.html">Engineering Handbook</a></span></li>
<li><span><a href="Home_100.html">Home</a></span></li></ol></div>
<h1 id="title-heading" class="pagetitle"><span id="title-text"> Engineering Handbook : Deploys </span></h1></div>
<div id="content" class="view"><div class="page-metadata">Created by <span class='author'> Ada Lovelace</span>, last modified by <span class='editor'> Grace Hopper</span> on May 04, 2024</div>
<div id="main-content" class="wiki-content group"><p>See <a href="Home_100.html">Home</a> and <a href="https://example.com/x">this</a>.</p>
<div class="code panel pdl"><div class="codeContent panelContent pdl"><pre class="syntaxhighlighter-pre" data-syntaxhighlighter-params="brush: bash; gutter: false">make deploy
  --now</pre></div></div><script>alert(1)</script></div></div></div></div></body></html>"""

NOTION_IDS = {
    "Handbook": "a" * 31 + "1",
    "Deploys": "b" * 31 + "2",
    "Tasks": "c" * 31 + "3",
    "Fix login": "d" * 31 + "4",
}


def notion_markdown(*, deploys: str = "Only on **Tuesdays**.") -> dict[str, str]:
    """Return the files of a Markdown & CSV export."""
    top, ids = f"Handbook {NOTION_IDS['Handbook']}", NOTION_IDS
    inner = f"{top}/Deploys (how) {ids['Deploys']}"
    tasks = f"{top}/Tasks {ids['Tasks']}"
    link = f"Handbook%20{ids['Handbook']}/Deploys%20(how)%20{ids['Deploys']}.md"
    return {
        f"{top}.md": f"# Handbook\n\nWelcome: read [Deploys (how)]({link}) first.\n\n[Tasks](x%20{ids['Tasks']}.csv)\n",
        f"{inner}.md": (
            "# Deploys (how)\n\nTags: ops, release\nCreated: May 4, 2024 9:30 AM\nCreated by: Ada Lovelace\n"
            f"URL: https://example.com/d\n\n{deploys}\n\n```bash\nmake deploy\n```\n"
        ),
        f"{tasks}.csv": '\ufeffName,Status,Tags\nFix login,Done,"auth, web"\n',
        f"{tasks}_all.csv": '\ufeffName,Status,Tags\nFix login,Done,"auth, web"\nOld,Done,\n',
        f"{tasks}/Fix login {ids['Fix login']}.md": "# Fix login\n\nStatus: Done\nTags: auth, web\n\nThe cookie was too large.\n",
        f"{top}/Ports {'e' * 31}5.csv": 'Service,Port\napi,8000\n"web, old",80\n',
        f"{top}/Empty {'f' * 31}6.md": "# Empty\n",
        f"{top}/image.png": "PNG",
    }


NOTION_HTML = """<html><head><meta http-equiv="Content-Type" content="text/html; charset=utf-8"/><title>Deploys</title><style>p{}</style></head>
<body><article id="bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbb2" class="page sans"><header><h1 class="page-title">Deploys</h1><p class="page-description"></p>
<table class="properties"><tbody><tr class="property-row property-row-multi_select"><th><span class="icon"></span>Tags</th>
<td><span class="selected-value">ops</span></td></tr>
<tr><th>Created</th><td><time>@May 4, 2024 9:30 AM</time></td></tr></tbody></table></header>
<div class="page-body"><p>Only on <strong>Tuesdays</strong>.</p>
<ul class="to-do-list"><li><div class="checkbox checkbox-on"></div> <span class="to-do-children-checked">Announce</span></li></ul>
<figure class="link-to-page"><a href="Handbook%20aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1.html">Handbook</a></figure>
<pre class="code"><code class="language-Bash">make deploy</code></pre><details open=""><summary>More</summary><p>Inside.</p></details></div></article></body></html>"""


def gh_issue(number: int, **more: Any) -> dict[str, Any]:
    """An issue as `gh issue list --json` writes it."""
    return {
        "number": number,
        "title": f"Problem {number}",
        "state": "CLOSED",
        "stateReason": "COMPLETED",
        "url": f"https://github.com/acme/widgets/issues/{number}",
        "author": {"login": "reporter", "is_bot": False, "name": "R"},
        "body": "It breaks.",
        "labels": [{"name": "bug", "color": "d73a4a"}],
        "createdAt": "2024-05-01T10:00:00Z",
        "closedAt": "2024-05-04T10:00:00Z",
        "comments": [
            {"author": {"login": "x"}, "authorAssociation": "NONE", "body": "The fix: use `--force`.", "createdAt": "2024-05-02T10:00:00Z",
             "reactionGroups": [{"content": "THUMBS_UP", "users": {"totalCount": 4}}], "isMinimized": False},
            {"author": None, "authorAssociation": "OWNER", "body": "Spam that was solved and hidden.", "isMinimized": True},
        ],
        **more,
    }  # fmt: skip


def packed(files: dict[str, str | bytes], *, modes: dict[str, int] | None = None) -> bytes:
    """Return files as a zip archive."""
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, (2024, 5, 4, 9, 30, 0))
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, (modes or {}).get(name, 0o644) << 16
            archive.writestr(member, content)
    return raw.getvalue()


def write(path: Path, content: bytes | Any) -> Path:
    """Write a file and return its path; what is no bytes as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def _said(user: str, ts: str, text: str, thread: str = "", **more: Any) -> dict[str, Any]:
    told = {"type": "message", "user": user, "text": text, "ts": ts, "team": "T1", "client_msg_id": f"m-{ts}"}
    return {**told, **({"thread_ts": thread} if thread else {}), **more}


ANSWER = "The pod runs out of memory: set `resources.limits.memory` to 1Gi, ask <@U1> in <#C1|ops> if &gt; 1Gi."


def slack(*, later: bool = False, answer: str = ANSWER, more: dict[str, bytes] | None = None) -> bytes:
    """Return the export of a workspace: day files with threads over days, bots, edits, joins and private channels."""
    asked, solved, news, bot, lone = (f"17145504{number:02}.000100" for number in range(5))
    question = (
        "Does anyone know why deploys of the api fail with exit code 137?\n*Only* on _staging_, see"
        " <https://ci.example.com/1?a=1&amp;b=2|the log>.```if a &lt; b &amp;&amp; c: &lt;@U1&gt;```"
    )
    days: dict[str, list[dict[str, Any]]] = {
        "ops/2024-05-01.json": [
            _said("U3", "1714550000.000100", "<@U3> has joined the channel", subtype="channel_join"),
            _said("U1", asked, question, asked, reply_count=4, replies=[{"user": "U2", "ts": "1714636800.000200"}]),
            _said("U3", "1714550500.000100", "+1 same here", asked),
            _said("U1", solved, "Where is the wiki?", solved, reply_count=1),
            _said("U1", "1714550600.000100", "Nobody?", solved),
            _said("U2", news, "We have moved to the new office.", news, reply_count=1),
            _said("U1", "1714550700.000100", "Congratulations to all of you, what a great achievement!", news),
            {"type": "message", "subtype": "bot_message", "bot_id": "B1", "text": "Error: build failed?", "ts": bot, "thread_ts": bot},
            _said("U2", "1714550800.000100", "I restarted it, the disk was full.", bot),
            _said("U2", lone, "No thread here."),
        ],
        "ops/2024-05-02.json": [
            _said("U2", "1714636800.000200", answer, asked, edited={"user": "U2", "ts": "1714636900.000000"},
                  reactions=[{"name": "white_check_mark", "users": ["U1"], "count": 1}]),
            _said("U2", "1714636800.000200", answer, asked, subtype="thread_broadcast",
                  edited={"user": "U2", "ts": "1714636900.000000"}),
            _said("U1", "1714637000.000200", "Thanks, that worked!", asked),
            {"type": "message", "subtype": "tombstone", "user": "USLACKBOT", "text": "This message was deleted.", "ts": "1714637100.0", "thread_ts": asked},
            _said("U2", "1714637200.000200", "An answer to what was asked in April.", "1711958400.000100"),
        ],
    }  # fmt: skip
    if later:
        new = "1717228800.000100"
        days = {
            "ops/2024-06-01.json": [
                _said("U3", new, "How do I rotate the signing key?", new),
                _said("U1", "1717228900.000100", "Run `make rotate` on the bastion, then restart the workers.", new),
            ]
        }
    secret = "1714550900.000100"
    private = [
        _said("U1", secret, "What is my salary?", secret),
        _said("U2", "1714550901.0", "Your salary is 100 coins.", secret),
    ]
    people = [
        {"id": "U1", "name": "ada", "profile": {"display_name": "Ada L", "real_name": "Ada Lovelace"}},
        {"id": "U2", "name": "grace", "deleted": True, "profile": {"display_name": "", "real_name": "Grace Hopper"}},
        {"id": "U3", "name": "linus", "real_name": "Linus"},
    ]
    files: dict[str, str | bytes] = {
        "channels.json": json.dumps([{"id": "C1", "name": "ops", "is_archived": False, "members": ["U1"]}]),
        "groups.json": json.dumps([{"id": "G1", "name": "secret"}]),
        "dms.json": json.dumps([{"id": "D1", "members": ["U1", "U2"]}]),
        "users.json": json.dumps(people),
        "integration_logs.json": "[]",
        **{name: json.dumps(messages) for name, messages in days.items()},
        **dict.fromkeys(
            ("secret/2024-05-01.json", "D1/2024-05-01.json", "unlisted/2024-05-01.json"), json.dumps(private)
        ),
        **(more or {}),
    }
    return packed(files)
