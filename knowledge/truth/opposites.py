"""Words by which statements about the same thing exclude each other: opposites, and alternatives of one kind.

Lists, because vectors do not tell: they put “dark” as near to “light” as to “gloomy”.
"""

OPPOSITES = """
before after / until since / sync async / synchronous asynchronous / synchronously asynchronously / public private
publicly privately / tab space / merge rebase / mutable immutable / on off / up down / true false / minimum maximum
least most / manually automatically / manual automatic
allow forbid prohibit ban disallow deny / permit forbid prohibit
enable disable / activate deactivate / include exclude omit / add remove / keep delete drop discard / retain delete
discard delete / accept reject refuse decline / approve reject / join leave quit / hire dismiss fire
love hate dislike / like hate dislike / enjoy hate dislike / increase decrease reduce lower / raise lower reduce
grow shrink / start stop / open close / begin finish end / pass fail / succeed fail / forward drop / show hide
visible hidden / lock unlock / encrypt decrypt / install uninstall / upgrade downgrade / win lose / trust distrust
agree disagree / connect disconnect / attach detach / freeze unfreeze / expand collapse / dark light / bright dark
fast slow / quick slow / quickly slowly / short long / shorter longer / faster slower / brief detailed long
concise detailed verbose / terse verbose / ascending descending / first last / early late / earlier later / high low
higher lower / big small / large small / larger smaller / wide narrow / strong weak / strict lenient loose / hard soft
difficult easy / hard easy / simple complex
cheap expensive / hot cold / warm cold / full empty / safe unsafe dangerous
local remote / internal external / inside outside / online offline / temporary permanent / optional mandatory required
often rarely seldom / single multiple / explicit implicit / formal informal casual / shared separate / same different
horizontal vertical / top bottom / upper lower / uppercase lowercase / shallow deep / direct indirect / eager lazy
sparse dense / loud quiet / present absent / available unavailable / good bad / better worse / best worst
right wrong / correct wrong incorrect / green red / active inactive / singular plural / employed unemployed
centralised decentralised / stateless stateful / more fewer less / above below
"""
"""Groups whose first word excludes each of the others."""
ALTERNATIVES = """
january february march april june july august september october november december
morning noon afternoon evening night / spring summer autumn fall winter
daily weekly fortnightly monthly quarterly yearly hourly nightly
red orange yellow green blue purple violet pink brown black white grey gray teal cyan magenta turquoise
npm pnpm yarn bun / pip poetry uv pipenv conda / maven gradle bazel
postgresql mysql mariadb sqlite oracle mongodb cassandra dynamodb / redis memcached valkey
kafka nats rabbitmq pulsar sqs kinesis / celery sidekiq rq dramatiq resque / jenkins circleci travis buildkite teamcity
aws azure gcp hetzner / vim neovim emacs helix nano vscode sublime intellij pycharm / linux windows macos
ubuntu debian fedora arch alpine / pytest unittest / jest vitest mocha jasmine / eslint biome tslint
black ruff autopep8 yapf / react vue svelte angular / django flask fastapi rails laravel / webpack vite rollup esbuild
helm kustomize / terraform pulumi cloudformation / docker podman / nginx caddy traefik apache haproxy
slack teams discord mattermost / jira linear trello asana / github gitlab bitbucket gitea / bash zsh fish powershell
mit apache gpl bsd agpl lgpl mpl / rest graphql grpc soap / json xml yaml toml avro protobuf
uuid bigserial integer serial ulid / euro dollar cent / gram kilogram ounce pound / metre meter foot yard
celsius fahrenheit kelvin / planned started ongoing progress finished done completed cancelled postponed blocked
single married divorced widowed / left right centre / camelcase snakecase kebabcase / vegan vegetarian omnivore
"""
"""Groups of which one holds at a time, where the rest of two statements is the same."""


def groups_in(text: str) -> list[list[str]]:
    """Return the words of each group."""
    return [group.split() for line in text.splitlines() for group in line.split(" / ") if group.strip()]
