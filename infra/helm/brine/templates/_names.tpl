{{- define "brine.name" -}}
{{- if contains "brine" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-brine" (.Release.Name | trunc 34 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "brine.selector" -}}
app.kubernetes.io/name: brine
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "brine.labels" -}}
{{ include "brine.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Where NATS is, all its servers. */}}
{{- define "brine.natsUrl" -}}
{{- $root := . }}
{{- $name := include "brine.name" $root }}
{{- $hosts := list }}
{{- if $root.Values.nats.enabled }}
{{- range $index := until (int $root.Values.nats.replicas) }}
{{- $hosts = append $hosts (printf "%s-nats-%d.%s-nats:4222" $name $index $name) }}
{{- end }}
{{- else }}
{{- $named := required "nats.host: servers of your own, or nats.enabled" $root.Values.nats.host }}
{{- $hosts = splitList "," $named }}
{{- end }}
{{- $urls := list }}
{{- range $hosts }}{{ $urls = append $urls (printf "tls://%s" (trim .)) }}{{ end }}
{{- join "," $urls }}
{{- end }}

{{- define "brine.streamReplicas" -}}
{{- if .Values.nats.enabled }}{{ .Values.nats.replicas }}{{ else }}{{ .Values.nats.streamReplicas }}{{ end }}
{{- end }}

{{- define "brine.scheduling" -}}
{{- with .Values.images.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "brine.bareOfRights" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
