{{/* Labels of everything; call with (dict "root" $ "component" "api"). */}}
{{- define "charter.selector" -}}
app.kubernetes.io/name: charter
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "charter.labels" -}}
{{ include "charter.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "charter.name" -}}
{{ printf "%s-%s" .root.Release.Name .component | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* A user without rights, over a root that nothing writes to. */}}
{{- define "charter.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "charter.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "charter.image" -}}
{{- $image := .root.Values.image -}}
image: {{ if $image.digest }}{{ printf "%s@%s" $image.repository $image.digest | quote }}{{ else }}{{ printf "%s:%s" $image.repository ($image.tag | default .root.Chart.AppVersion) | quote }}{{ end }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
{{- end }}

{{- define "charter.environment" -}}
- name: CHARTER_CONFIG
  value: /etc/charter/{{ .root.Values.secrets.config.key }}
- name: CHARTER_STORE__URL
  valueFrom:
    secretKeyRef:
      name: {{ .root.Values.secrets.store.name }}
      key: {{ .root.Values.secrets.store.key }}
- name: CHARTER_REPLICA__DRAIN_S
  value: {{ .root.Values.drainSeconds | quote }}
- name: CHARTER_EVIDENCE__KEY_FILE
  value: /keys/evidence.key
- name: CHARTER_A2A__KEY_FILE
  value: /keys/agent-card.key
{{- end }}

{{- define "charter.mounts" -}}
- {name: data, mountPath: /data}
- {name: tmp, mountPath: /tmp}
- {name: keys, mountPath: /keys, readOnly: true}
- {name: config, mountPath: /etc/charter, readOnly: true}
{{- end }}

{{- define "charter.volumes" -}}
- name: data
  emptyDir:
    sizeLimit: {{ .root.Values.scratch.dataLimit }}
- name: tmp
  emptyDir:
    sizeLimit: {{ .root.Values.scratch.tmpLimit }}
- name: keys
  emptyDir:
    medium: Memory
    sizeLimit: 1Mi
- name: signing
  secret:
    secretName: {{ .root.Values.secrets.signing.name }}
    defaultMode: 0440
- name: config
  secret:
    secretName: {{ .root.Values.secrets.config.name }}
    defaultMode: 0440
    items:
      - {key: {{ .root.Values.secrets.config.key | quote }}, path: {{ .root.Values.secrets.config.key | quote }}}
{{- end }}

{{/* Charter refuses a seed that others can read, and a Secret's file cannot be the process's own: a copy is. */}}
{{- define "charter.keys" -}}
- name: keys
  {{- include "charter.image" . | nindent 2 }}
  command: [install, --mode=0600, /signing/evidence.key, /signing/agent-card.key, /keys]
  securityContext:
    {{- include "charter.containerSecurity" . | nindent 4 }}
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {memory: 64Mi}
  volumeMounts:
    - {name: signing, mountPath: /signing, readOnly: true}
    - {name: keys, mountPath: /keys}
{{- end }}
