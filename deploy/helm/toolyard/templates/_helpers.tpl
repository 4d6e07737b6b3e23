{{- define "toolyard.selector" -}}
app.kubernetes.io/name: toolyard
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "toolyard.labels" -}}
{{ include "toolyard.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "toolyard.postgresql" -}}
app.kubernetes.io/name: toolyard-postgresql
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* The names of the Service, as clients in the cluster write them. */}}
{{- define "toolyard.hosts" -}}
{{- $name := .Release.Name -}}
{{- $space := .Release.Namespace -}}
{{- $hosts := list -}}
{{- range list $name (printf "%s.%s" $name $space) (printf "%s.%s.svc" $name $space) (printf "%s.%s.svc.cluster.local" $name $space) }}
{{- $hosts = append $hosts (printf "%s:7420" .) }}
{{- end -}}
{{- join "," $hosts -}}
{{- end }}

{{/* The address of the shared database; empty without one. */}}
{{- define "toolyard.database" -}}
{{- if and .Values.database.url .Values.database.bundled }}
{{- fail "set database.url or database.bundled, not both" }}
{{- end }}
{{- $url := .Values.database.url -}}
{{- if .Values.database.bundled }}
{{- $url = printf "postgresql://toolyard@%s-postgresql/toolyard" .Release.Name }}
{{- end }}
{{- if and $url .Values.servers }}
{{- fail "with a database, servers are kept there: leave `servers` empty, and add them with toolyard add" }}
{{- end }}
{{- $url -}}
{{- end }}
