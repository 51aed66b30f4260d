"""Known mistakes: the lesson of each, its triggers, the acts that repeat it, and acts that only look like it.

Written for the benchmark. An act is a line for a shell, unless it begins with the name of what it is: `edit`, `read`,
`tool`, `says` (a prompt) or `failed` (what a command printed when it failed).
"""

from typing import NamedTuple


class Lesson(NamedTuple):
    """One mistake that is known, as people would write it down."""

    triggers: tuple[str, ...]
    mistakes: tuple[str, ...]
    harmless: tuple[str, ...]


LESSONS = (
    Lesson(
        ("command: git push --force unless --dry-run",),
        (
            "git push --force origin main",
            "git push origin main -f",
            "cd services/billing && git push --force",
            "sudo -u deploy git push -f origin HEAD:main",
            "GIT_SSH_COMMAND='ssh -i key' git push --force",
            "bash -lc 'git fetch && git push --force'",
            "git commit -am wip; git -C ../site push origin --force",
        ),
        (
            "git push origin main",
            "git push --force-with-lease",
            "git push --force --dry-run",
            "git commit -m 'Never git push --force'",
            "grep -rn 'git push --force' docs/",
            "echo 'git push --force is forbidden' >> CONTRIBUTING.md",
            "git fetch --force",
            "git log --oneline -5 # then git push --force",
        ),
    ),
    Lesson(
        ("path: db/migrations/*.sql", "path: */migrations/0*.py"),
        (
            "edit db/migrations/0012_invoices.sql",
            "sed -i 's/INT/BIGINT/' db/migrations/0012_invoices.sql",
            "cd db && cat > migrations/0013_fix.sql <<'EOF'\nALTER TABLE a;\nEOF",
            "edit billing/migrations/0004_total.py",
            "git checkout HEAD~2 -- db/migrations/0009_rates.sql",
            "rm db/migrations/0001_init.sql",
        ),
        (
            "read db/migrations/0012_invoices.sql",
            "cat db/migrations/0012_invoices.sql | head -40",
            "ls -l db/migrations",
            "psql -f db/migrations/0012_invoices.sql",
            "edit docs/migrations.md",
            "edit db/migrations_helper.py",
            "grep -n ALTER db/migrations/*.sql > /tmp/found",
        ),
    ),
    Lesson(
        ("command: npm install unless --legacy-peer-deps unless -g",),
        (
            "npm install",
            "npm i left-pad",
            "cd web; npm install --save-dev vite",
            'sh -c "cd web && npm i"',
            "env CI=1 npm install react@19",
            "(cd web && npm add zod)",
        ),
        (
            "npm install --legacy-peer-deps",
            "npm run install-hooks",
            "npm test",
            "npm i --legacy-peer-deps zod",
            "pnpm install",
            "echo npm install",
            "npm install -g npm",
            "npm ls --depth 0",
        ),
    ),
    Lesson(
        ("command: terraform apply|destroy unless -target|-target=*",),
        (
            "terraform apply -auto-approve",
            "cd infra/prod && terraform destroy",
            "TF_LOG=debug terraform apply",
            "terraform -chdir=infra apply",
            "timeout 600 terraform apply -input=false",
            "if terraform plan; then terraform apply; fi",
        ),
        (
            "terraform plan",
            "terraform apply -target=module.queue",
            "terraform fmt -recursive",
            "cat terraform.tfstate | jq .version",
            "terraform state list",
            "make terraform-docs",
        ),
    ),
    Lesson(
        ("command: kubectl … delete unless --namespace=dev unless --dry-run*", "tool: mcp__kube__delete_*"),
        (
            "kubectl delete pod api-0",
            "kubectl -n prod delete deploy/api",
            "kubectl --context prod-eu delete ns billing",
            "kubectl get pods -o name | xargs kubectl delete",
            "tool mcp__kube__delete_namespace",
            "kubectl get pods\nkubectl delete job migrate",
        ),
        (
            "kubectl get pods -n prod",
            "kubectl delete pod x --namespace=dev",
            "kubectl -n dev delete pod x",
            "kubectl describe pod delete-me",
            "kubectl delete pod x --dry-run=client",
            "tool mcp__kube__list_namespaces",
            "kubectl logs deleter-7f",
        ),
    ),
    Lesson(
        ("command: psql|mysql … *drop?table*|*truncate*|*drop*table*",),
        (
            "psql -h db -c 'DROP TABLE invoices'",
            'psql prod -c "truncate invoices"',
            "docker exec -it db psql -U app -c 'drop table rates cascade'",
            "ssh db1 \"psql -c 'TRUNCATE TABLE rates'\"",
            "mysql -e 'DROP TABLE IF EXISTS rates' shop",
        ),
        (
            "psql -c 'select * from rates'",
            "grep -rn 'DROP TABLE' db/",
            "git commit -m 'Drop table rates'",
            "psql -c 'select drop_date from rates'",
            "echo 'drop table rates' > notes.txt",
            "psql -l",
        ),
    ),
    Lesson(
        ("command: pip install unless -r|--requirement|-e|--editable",),
        (
            "pip install requests",
            "python -V && pip install -U urllib3",
            "uv run pip install requests",
            ".venv/bin/pip install 'django<6'",
            "sudo pip install ansible",
        ),
        (
            "pip install -r requirements.txt",
            "pip list",
            "pip install -e .",
            "pip show requests",
            "pip freeze | grep install",
            "pip uninstall requests -y",
        ),
    ),
    Lesson(
        ("path: *.lock unless docs/**", "path: package-lock.json"),
        (
            "edit uv.lock",
            "edit web/package-lock.json",
            "rm -f Cargo.lock",
            "echo '{}' > web/package-lock.json",
            "mv poetry.lock poetry.lock.bak",
        ),
        (
            "read uv.lock",
            "edit docs/example.lock",
            "edit src/lock.py",
            "git diff uv.lock",
            "edit src/locksmith.ts",
            "cat Cargo.lock",
        ),
    ),
    Lesson(
        ("path: .env*", "path: secrets/", "path: ~/.ssh/*"),
        (
            "edit .env",
            "edit apps/web/.env.production",
            "edit secrets/prod.yaml",
            "printf 'A=1' >> .env.local",
            "edit ~/.ssh/config",
        ),
        ("edit src/environment.ts", "read .env.example", "edit docs/secrets.md", "ls -a", "source .env && make run"),
    ),
    Lesson(
        (
            "command: docker compose down -v|--volumes",
            "command: docker … volume rm|prune",
            "command: docker system prune",
        ),
        (
            "docker compose down -v",
            "docker compose -f dev.yml down --volumes",
            "docker volume rm pgdata",
            "docker system prune -af",
            "cd deploy && docker compose down --remove-orphans -v",
        ),
        (
            "docker compose down",
            "docker compose up -d -V",
            "docker volume ls",
            "docker run --rm -v $PWD:/w alpine ls",
            "docker ps --volumes-from x",
        ),
    ),
    Lesson(
        ("command: rm -rf unless node_modules|dist|build|/tmp/*",),
        (
            "rm -rf data",
            "rm -fr ./storage/",
            "rm -r -f uploads",
            "find . -name cache -exec rm -rf {} +",
            "rm --recursive --force var",
            "ls -d old-* | xargs rm -rf",
        ),
        (
            "rm -rf node_modules",
            "rm -rf dist",
            "rm -r empty",
            "rm -f a.log",
            "git rm -r --cached data",
            "echo rm -rf data",
            "rm -rf /tmp/work",
        ),
    ),
    Lesson(
        ("error: could not connect to server … 5432", "error: connection refused … 5432"),
        (
            "failed psycopg2.OperationalError: could not connect to server: Connection refused (port 5432)",
            'failed 12 passed\nE  connection to server at "127.0.0.1", port 5432 failed: Connection refused 5432',
            "failed Error: connect: connection refused 127.0.0.1:5432",
        ),
        (
            "failed Error: connection refused 127.0.0.1:6379",
            "failed AssertionError: 5432 != 5433",
            "failed could not connect to the queue",
        ),
    ),
    Lesson(
        ("error: ModuleNotFoundError … shared_lib", "error: ERESOLVE unable to resolve dependency tree"),
        (
            "failed Traceback (most recent call last):\nModuleNotFoundError: No module named 'shared_lib'",
            "failed npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree",
        ),
        ("failed ModuleNotFoundError: No module named 'numpy'", "failed npm ERR! code ENOENT"),
    ),
    Lesson(
        ('prompt: deploy*|release* friday|"before the weekend"', "prompt: delete customer data"),
        (
            "says Please deploy the billing service this Friday afternoon.",
            "says Can we still release it before the weekend?",
            "says A customer asked us to delete their data: remove all customer rows.",
        ),
        (
            "says Deploy the billing service on Monday.",
            "says What did we decide last Friday?",
            "says Show the customer their invoices.",
            "says Fix the typo in the deployment guide.",
        ),
    ),
    Lesson(
        ("tool: mcp__stripe__*refund*", "tool: mcp__mail__send to all"),
        ("tool mcp__stripe__create_refund", "tool mcp__stripe__refund", "tool mcp__mail__send to=all@example.com"),
        (
            "tool mcp__stripe__list_charges",
            "tool mcp__mail__search query=refund",
            "tool mcp__mail__send to=ada@example.com",
        ),
    ),
    Lesson(
        ("command: pytest unless -n|-n0|-k|*::*|tests/*", "command: make test"),
        ("pytest", "uv run pytest -x", ".venv/bin/python -m pytest && echo ok", "make test", "make -j2 test"),
        ("pytest tests/unit", "pytest -k rates", "make test-fast", "cat pytest.ini", "pip show pytest"),
    ),
    Lesson(
        ("command: git commit --no-verify", "command: git … --no-verify", "command: HUSKY=0 git commit"),
        ("git commit -nm wip", "git commit --no-verify -m 'wip'", "HUSKY=0 git commit -m x", "git push --no-verify"),
        ("git commit -m 'Explain --no-verify'", "git commit -v", "git log -n 5", "HUSKY=0 npm ci"),
    ),
    Lesson(
        ("command: alembic downgrade", "command: python … manage.py migrate … zero", "command: rails db:reset|db:drop"),
        (
            "alembic downgrade -1",
            "python manage.py migrate billing zero",
            "poetry run python manage.py migrate rates zero",
            "bundle exec rails db:reset",
            "RAILS_ENV=production rails db:drop",
        ),
        (
            "alembic upgrade head",
            "python manage.py migrate",
            "rails db:migrate",
            "python manage.py showmigrations billing",
        ),
    ),
    Lesson(
        ("command: curl|wget … *prod.example.com*", "command: ssh … prod*"),
        (
            "curl -X DELETE https://api.prod.example.com/v1/rates",
            "wget -q https://prod.example.com/dump",
            "ssh -i key prod-db-1 uptime",
            "curl -s -H 'A: b' 'https://prod.example.com/x'",
        ),
        (
            "curl https://staging.example.com",
            "ssh staging uptime",
            "ping prod.example.com",
            "grep prod.example.com README.md",
        ),
    ),
)
