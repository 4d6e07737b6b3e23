#!/usr/bin/env bash
# OpenTelemetry's own collector for tests, built from the Go module proxy into .cache/otelcol.
#
#   scripts/collector.sh    build it, if it is not there; needs Go and some minutes
#
# It takes OTLP over HTTP and passes it on: a test reads what the real collector has read.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v0.162.0 # later ones need a module that the proxy does not have
providers=v1.68.0
target=$PWD/.cache/otelcol
[ ! -x "$target" ] || exit 0
command -v go >/dev/null || { echo "Go is missing; on Debian and Ubuntu: apt install golang" >&2; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/builder.yaml" <<YAML
dist: { name: otelcol, output_path: $folder/dist }
conf_resolver: { default_uri_scheme: yaml }
receivers: [{ gomod: go.opentelemetry.io/collector/receiver/otlpreceiver $version }]
exporters: [{ gomod: go.opentelemetry.io/collector/exporter/otlphttpexporter $version }]
providers: [{ gomod: go.opentelemetry.io/collector/confmap/provider/yamlprovider $providers }]
YAML
go run "go.opentelemetry.io/collector/cmd/builder@$version" --config "$folder/builder.yaml"
mkdir -p .cache
mv "$folder/dist/otelcol" "$target"
