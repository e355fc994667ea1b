# syntax=docker/dockerfile:1
# One image for both programs: the bot is the default, the venue another entrypoint of the same tree.

FROM python:3.11-slim AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Dependencies first: they change less often than the source. Every file is checked by its hash.
COPY requirements.lock requirements-dev.lock ./
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes -r requirements-dev.lock \
    && python -m venv /opt/venv \
    && /opt/venv/bin/pip install --require-hashes -r requirements.lock
COPY pyproject.toml README.md ./
COPY bot bot
COPY strategies strategies
COPY venue venue
# The wheel is built by the locked hatchling and installed without looking for anything else.
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /src/dist . \
    && /opt/venv/bin/pip install --no-deps /src/dist/laddermaker-*.whl \
    && /opt/venv/bin/python -m compileall -q /opt/venv/lib \
    && /opt/venv/bin/pip uninstall --yes pip setuptools

FROM python:3.11-slim
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
COPY --from=build /opt/venv /opt/venv
COPY configs /etc/laddermaker/configs
# A fixed numeric user, so that a read-only root and a mounted state directory agree on the owner.
RUN install -d -o 10001 -g 10001 -m 0700 /var/lib/laddermaker
USER 10001:10001
# Paths in a configuration are relative to here; the state directory is the one writable place.
WORKDIR /etc/laddermaker
VOLUME /var/lib/laddermaker
# Exec form: the bot is process 1 and gets the stop signal itself. It cancels everything and checks
# within 8 s, so give it at least 15 s before it is killed.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8090/healthz', timeout=2)"]
ENTRYPOINT ["bot"]
CMD ["run", "configs/demo.yaml", "--status-port", "8090", "--state-dir", "/var/lib/laddermaker/demo"]
