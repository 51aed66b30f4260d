{{- define "bigmind.name" -}}
{{- if contains "bigmind" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-bigmind" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "bigmind.account" -}}
{{ .Values.serviceAccount.name | default (include "bigmind.name" .) }}
{{- end }}

{{- define "bigmind.chosen" -}}
app.kubernetes.io/name: bigmind
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bigmind.labels" -}}
{{ include "bigmind.chosen" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "bigmind.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* Whether a part makes backups. */}}
{{- define "bigmind.backs" -}}
{{- if and (eq .part "worker") .root.Values.backups.claim }}true{{ end }}
{{- end }}

{{/* Variables of a container; `owner` says whether it migrates and makes indexes. */}}
{{- define "bigmind.variables" -}}
{{- $secret := .root.Values.secret -}}
- name: BIGMIND_PUBLIC_URL
  value: {{ .root.Values.publicUrl | quote }}
- name: BIGMIND_MODE
  value: {{ .root.Values.mode | quote }}
- name: BIGMIND_PROXIES
  value: {{ .root.Values.proxies | quote }}
- name: BIGMIND_LOG_FORMAT
  value: {{ .root.Values.variables.BIGMIND_LOG_FORMAT | default "json" | quote }}
{{- range $name, $value := omit .root.Values.variables "BIGMIND_LOG_FORMAT" }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- $keys := concat $secret.keys $secret.moreKeys }}
{{- if .owner }}{{ $keys = append $keys $secret.ownerKey }}{{ end }}
{{- if eq .part "worker" }}{{ $keys = concat $keys $secret.workerKeys }}{{ end }}
{{- if include "bigmind.backs" . }}
- name: BIGMIND_BACKUP_DIR
  value: /var/backups/bigmind
{{- end }}
{{- if and .root.Values.serviceMonitor.enabled (not (has "BIGMIND_METRICS_TOKEN" $keys)) }}{{ $keys = append $keys "BIGMIND_METRICS_TOKEN" }}{{ end }}
{{- range $keys }}
- name: {{ . }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret.name }}
      key: {{ . }}
{{- end }}
{{- end }}

{{/* What a container may do: nothing but run, and write into its home and /tmp. */}}
{{- define "bigmind.confined" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - {name: home, mountPath: /home/bigmind/.bigmind}
  - {name: tmp, mountPath: /tmp}
  {{- if include "bigmind.backs" . }}
  - {name: backups, mountPath: /var/backups/bigmind}
  {{- end }}
{{- end }}

{{/* What all pods share; `account` is the service account. */}}
{{- define "bigmind.pod" -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 7700
  runAsGroup: 7700
  fsGroup: 7700
  seccompProfile:
    type: RuntimeDefault
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  # Logs, and the key that is made where none is given. What must last is in the database.
  - name: home
    emptyDir: {sizeLimit: 2Gi}
  {{- if include "bigmind.backs" . }}
  - name: backups
    persistentVolumeClaim: {claimName: {{ .root.Values.backups.claim }}}
  {{- end }}
  - name: tmp
    emptyDir: {sizeLimit: 1Gi}
{{- end }}
