# The hub in a container: docker build -t toolyard . (docs/how-to/install.md says how to run it).
FROM python:3.13-slim AS build
WORKDIR /build
RUN python -m venv /opt/toolyard
COPY requirements/runtime.txt requirements/
RUN /opt/toolyard/bin/pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY docs/reference/toolyard.1 docs/reference/
COPY src src
RUN /opt/toolyard/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
COPY --from=build /opt/toolyard /opt/toolyard
RUN useradd --uid 10001 --create-home toolyard && install -d -m 700 -o toolyard -g toolyard /data
ENV PATH=/opt/toolyard/bin:$PATH \
    TOOLYARD_HOME=/data \
    TOOLYARD_HOST=0.0.0.0 \
    TOOLYARD_PORT=7420
USER toolyard
VOLUME /data
EXPOSE 7420
HEALTHCHECK --start-period=20s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:7420/health/live')"]
ENTRYPOINT ["toolyard"]
CMD ["up"]
