# One image for everything: alone it runs BigMind with its embedded database; docker-compose.yml runs its parts apart.
FROM python:3.12-slim

RUN useradd --uid 7700 --create-home bigmind && install --directory --mode 700 --owner bigmind /home/bigmind/.bigmind
WORKDIR /srv/bigmind

COPY requirements/run.txt requirements/run.txt
RUN pip install --no-cache-dir --require-hashes --no-deps -r requirements/run.txt

COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation --editable .

# Within the container only its own network sees this; what is published decides who reaches it.
ENV BIGMIND_BIND=0.0.0.0 PYTHONUNBUFFERED=1
USER bigmind
VOLUME /home/bigmind/.bigmind
EXPOSE 7700
CMD ["bigmind", "up"]
