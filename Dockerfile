# syntax=docker/dockerfile:1
# One image for all programs: the bot is the default; the venue and the reaper are other entrypoints
# of the same tree. deploy/rootfs.py runs these very steps without an engine (make image-check).

# The patch release is named, so that two builds of one commit begin alike; bookworm is the Debian
# whose interpreter the tests run on as well. The tag is raised by hand, its security fixes with it.
FROM python:3.11.15-slim-bookworm AS base

FROM base AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Dependencies first: they change less often than the source. Every file is checked by its hash. An
# index of one's own comes in as a secret that no layer keeps:
#   docker build --secret id=pip,src=/etc/pip.conf .
COPY requirements.lock ./
COPY deploy/image/build.lock deploy/image/postgres.lock ./
RUN --mount=type=secret,id=pip,target=/etc/pip.conf,required=false \
    python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes -r build.lock \
    && python -m venv /opt/venv \
    && /opt/venv/bin/pip install --require-hashes --no-compile -r requirements.lock -r postgres.lock
COPY pyproject.toml README.md LICENSE ./
COPY bot bot
COPY laddermaker laddermaker
COPY strategies strategies
COPY venue venue
# The wheel is built by the locked hatchling and installed without looking for anything else. Then
# what only developers read goes: tests, stubs and headers of the libraries, and the installer
# itself. The byte code is compiled once, here, and not compared with its source at every start.
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && /opt/venv/bin/pip install --no-deps --no-compile --no-index dist/laddermaker-*.whl \
    && /opt/venv/bin/pip uninstall --yes pip setuptools \
    && find /opt/venv -depth \
        \( -type d \( -name tests -o -name include \) -o -type f -name '*.py[ix]' \) \
        -exec rm -r {} + \
    && /opt/venv/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/venv/lib

FROM base
LABEL org.opencontainers.image.title=laddermaker \
      org.opencontainers.image.version=0.1.0 \
      org.opencontainers.image.licenses=Apache-2.0
# One thread for linear algebra: the arrays are small, and a thread for every core of a large machine
# would run into a limit on processes.
ENV PATH=/opt/venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 OPENBLAS_NUM_THREADS=1
COPY --from=build /opt/venv /opt/venv
COPY configs /etc/laddermaker/configs
# A fixed numeric user, so that a read-only root and a mounted state directory agree on the owner.
RUN install -d -o 10001 -g 10001 -m 0700 /var/lib/laddermaker
USER 10001:10001
# Paths in a configuration are relative to here. The state directory is the one place that keeps
# anything; beside it only /tmp is written, which a read-only root needs as a tmpfs.
WORKDIR /etc/laddermaker
VOLUME /var/lib/laddermaker
# Exec form: the bot is process 1 and gets the stop signal itself. It cancels everything and checks
# within 8 s, and answers that hang may take 10.5 s more: give it 20 s, docker stop --time 20.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 CMD ["bot-health"]
ENTRYPOINT ["bot"]
CMD ["run", "configs/demo.yaml", "--status-port", "8090", "--state-dir", "/var/lib/laddermaker/demo"]
