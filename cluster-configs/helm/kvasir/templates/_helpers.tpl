{{/* Names. */}}
{{- define "kvasir.name" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Labels by which Services, policies and nodes themselves find nodes. */}}
{{- define "kvasir.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: router
{{- end }}

{{- define "kvasir.labels" -}}
{{ include "kvasir.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The same for what belongs to the release and is no node: nothing may take it for one. */}}
{{- define "kvasir.commonLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "kvasir.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "kvasir.name" .) }}
{{- end }}

{{/* "a=b,c=d" as a map in YAML. */}}
{{- define "kvasir.matchLabels" -}}
{{- range splitList "," . }}
{{- $pair := splitn "=" 2 . }}
{{ $pair._0 | trim | quote }}: {{ $pair._1 | trim | quote }}
{{- end }}
{{- end }}

{{/* The engines that pods-from.kubernetes looks for; empty for none. */}}
{{- define "kvasir.engineSelector" -}}
{{ .Values.adopt.selector | default .Values.engines.selector }}
{{- end }}

{{- define "kvasir.engineNamespace" -}}
{{ ternary .Values.adopt.namespace .Values.engines.namespace (ne .Values.adopt.selector "") }}
{{- end }}

{{/* Every set of pods that Kvasir or a gateway sends requests to, as a list of {namespace, labels}. */}}
{{- define "kvasir.engines" -}}
{{- $engines := list }}
{{- if include "kvasir.engineSelector" . }}
{{- $engines = append $engines (dict "namespace" (include "kvasir.engineNamespace" .) "labels" (include "kvasir.matchLabels" (include "kvasir.engineSelector" .) | fromYaml)) }}
{{- end }}
{{- if .Values.picker.enabled }}
{{- range .Values.pools }}
{{- $engines = append $engines (dict "namespace" "" "labels" .selector) }}
{{- end }}
{{- end }}
{{- dict "engines" (uniq $engines) | toYaml }}
{{- end }}

{{/* Secrets. */}}
{{/*
Those that cert-manager writes have names of their own: it would put certificates of another authority into those that were
made at install, which nodes that run read again.
*/}}
{{- define "kvasir.tlsSecretKind" -}}
{{ ternary "issued-tls" "tls" (eq .Values.tls.source "cert-manager") }}
{{- end }}
{{- define "kvasir.clusterTlsSecret" -}}
{{ .Values.tls.clusterSecret | default (printf "%s-cluster-%s" (include "kvasir.name" .) (include "kvasir.tlsSecretKind" .)) }}
{{- end }}
{{- define "kvasir.managementTlsSecret" -}}
{{ .Values.tls.managementSecret | default (printf "%s-management-%s" (include "kvasir.name" .) (include "kvasir.tlsSecretKind" .)) }}
{{- end }}
{{- define "kvasir.keysSecret" -}}
{{- if .Values.access.keysSecret }}{{ .Values.access.keysSecret }}
{{- else if not .Values.access.open }}{{ include "kvasir.name" . }}-keys
{{- end }}
{{- end }}

{{/* Names by which others reach the management port: forwarded ports, the headless Service, and Prometheus. */}}
{{- define "kvasir.managementNames" -}}
{{- $service := printf "%s-cluster" (include "kvasir.name" .) }}
- localhost
- {{ $service }}
- {{ $service }}.{{ .Release.Namespace }}
- {{ $service }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/*
Memory, in MiB, as "kvasir serve" divides it (cluster-configs/SIZING.md): an index takes 50 bytes for each block of a
worker; 64 MiB and a tenth of the heap are for new objects, a quarter for requests, up to 256 MiB for prompts, and 40 MiB
are what a JVM does not count. Below 1 GiB requests of long prompts would have little room.
*/}}
{{- define "kvasir.indexMiB" -}}
{{- $workers := int64 .Values.fleet.workers }}
{{- div (add (mul 50 $workers (int64 .Values.fleet.blocks)) 1048575) 1048576 }}
{{- end }}
{{- define "kvasir.cellIndexMiB" -}}
{{- $workers := min 256 (int64 .Values.fleet.workers) }}
{{- max 64 (div (add (mul 50 $workers (int64 .Values.fleet.blocks)) 1048575) 1048576) }}
{{- end }}
{{- define "kvasir.heapMiB" -}}
{{- if .Values.heap }}{{ int64 .Values.heap }}
{{- else }}
{{- /* As nodes read it: what is set in "config" counts, too. */}}
{{- $config := include "kvasir.config" . | fromJson }}
{{- /* A cell for each model that is described or that a pod of the configuration has. */}}
{{- $models := list }}
{{- range $config.models }}{{ $models = append $models .name }}{{ end }}
{{- range $config.pods }}{{ $models = append $models (first (.models | default list) | default "") }}{{ end }}
{{- $budget := dig "cell" "index-budget" "auto" $config }}
{{- if eq (toString $budget) "auto" }}{{ $budget = printf "%s MiB" (include "kvasir.cellIndexMiB" .) }}{{ end }}
{{- $cells := mul (max 1 (len (uniq $models))) (int64 (include "kvasir.mib" $budget)) }}
{{- $index := max $cells (int64 (include "kvasir.indexMiB" .)) }}
{{- $prompts := 256 }}
{{- with dig "prompt" "memo" "auto" $config }}
{{- if ne (toString .) "auto" }}{{ $prompts = int64 (include "kvasir.mib" .) }}{{ end }}
{{- end }}
{{- $answers := 0 }}
{{- $store := dig "answers" "store" "off" $config | toString }}
{{- if not (has $store (list "off" "false")) }}
{{- $answers = int64 (include "kvasir.mib" (dig "answers" "recording" "256 MiB" $config)) }}
{{- if eq $store "memory" }}
{{- $answers = add $answers (int64 (include "kvasir.mib" (dig "answers" "memory" "size" "256 MiB" $config))) }}
{{- end }}
{{- end }}
{{- /* What shares of the heap leave for the rest, in percent: new objects take a tenth, bodies of requests a quarter, of the
picker's another tenth, and one is for rounding. */}}
{{- $free := sub 89 (int64 (ceil (mulf 100 (dig "gateway" "memory-share" 0.25 $config)))) }}
{{- if .Values.picker.enabled }}
{{- $free = sub $free (int64 (ceil (mulf 100 (dig "picker" "memory-share" 0.1 $config)))) }}
{{- end }}
{{- if lt $free 5 }}{{ fail "requests may take nearly all of the heap: lower memory-share in config, or set heap" }}{{ end }}
{{- max 1024 (mul 64 (div (add (div (mul 100 (add 64 40 $prompts $answers $index)) $free) 63) 64)) }}
{{- end }}
{{- end }}

{{/* A size as Kvasir's configuration has it ("64 MiB", or bytes), in whole MiB. */}}
{{- define "kvasir.mib" -}}
{{- $units := dict "" 1 "B" 1 "b" 1 "byte" 1 "bytes" 1
  "K" 1024 "k" 1024 "Ki" 1024 "KiB" 1024 "kibibyte" 1024 "kibibytes" 1024 "kB" 1000 "kilobyte" 1000 "kilobytes" 1000
  "M" 1048576 "m" 1048576 "Mi" 1048576 "MiB" 1048576 "mebibyte" 1048576 "mebibytes" 1048576
  "MB" 1000000 "megabyte" 1000000 "megabytes" 1000000
  "G" 1073741824 "g" 1073741824 "Gi" 1073741824 "GiB" 1073741824 "gibibyte" 1073741824 "gibibytes" 1073741824
  "GB" 1000000000 "gigabyte" 1000000000 "gigabytes" 1000000000 }}
{{- int64 (ceil (divf (include "kvasir.quantity" (dict "value" . "units" $units "kind" "size")) 1048576)) }}
{{- end }}

{{/* A time as Kvasir's configuration has it ("2 m", or milliseconds; off for none), in whole seconds. */}}
{{- define "kvasir.seconds" -}}
{{- if has (toString .) (list "off" "false") }}0
{{- else }}
{{- $units := dict "" 1 "ms" 1 "milli" 1 "millis" 1 "millisecond" 1 "milliseconds" 1
  "s" 1000 "second" 1000 "seconds" 1000 "m" 60000 "minute" 60000 "minutes" 60000
  "h" 3600000 "hour" 3600000 "hours" 3600000 "d" 86400000 "day" 86400000 "days" 86400000 }}
{{- int64 (ceil (divf (include "kvasir.quantity" (dict "value" . "units" $units "kind" "time")) 1000)) }}
{{- end }}
{{- end }}

{{/* A number with a unit, in the smallest one. */}}
{{- define "kvasir.quantity" -}}
{{- if not (kindIs "string" .value) }}{{ int64 .value }}
{{- else }}
{{- $number := regexFind "^[0-9]+([.][0-9]+)?" (trim .value) }}
{{- $unit := trimPrefix $number (trim .value) | trim }}
{{- if not (and $number (hasKey .units $unit)) }}{{ fail (printf "%q in config is no %s" .value .kind) }}{{ end }}
{{- int64 (ceil (mulf (float64 $number) (get .units $unit))) }}
{{- end }}
{{- end }}
{{/* Beside the heap the process has code, threads and buffers: 300 MiB by the plan, and room for large requests. */}}
{{- define "kvasir.memoryMiB" -}}
{{- add (int64 (include "kvasir.heapMiB" .)) 512 }}
{{- end }}

{{/* preStop, the node's own delay and the streams' time, as nodes read them, and half a minute to hand cells over and leave. */}}
{{- define "kvasir.grace" -}}
{{- $gateway := (include "kvasir.config" . | fromJson).gateway }}
{{- $delay := int64 (include "kvasir.seconds" (dig "drain-delay" "off" $gateway)) }}
{{- add (int64 .Values.drain.delaySeconds) $delay (int64 (include "kvasir.seconds" (get $gateway "drain-timeout"))) 35 }}
{{- end }}

{{- define "kvasir.requiredNodes" -}}
{{- .Values.cluster.requiredNodes | default (add 1 (div (int64 .Values.replicas) 2)) }}
{{- end }}

{{/* What pods do not say of themselves. */}}
{{- define "kvasir.podDefaults" -}}
{{- $pod := deepCopy .Values.engines.pod }}
{{- if .Values.adopt.selector }}
{{- $events := dict }}
{{- with .Values.adopt.eventsPort }}{{ $_ := set $events "endpoint" (printf "tcp://{ip}:%d" (int64 .)) }}{{ end }}
{{- with .Values.adopt.replayPort }}{{ $_ := set $events "replay" (printf "tcp://{ip}:%d" (int64 .)) }}{{ end }}
{{- $adopted := dict "url" (printf "http://{ip}:%d" (int64 .Values.adopt.port)) }}
{{- if $events }}{{ $_ := set $adopted "events" $events }}{{ end }}
{{- $pod = mergeOverwrite $adopted $pod }}
{{- end }}
{{- toYaml $pod }}
{{- end }}

{{- define "kvasir.models" -}}
{{- $models := .Values.models }}
{{- $names := list }}
{{- range $models }}{{ $names = append $names .name }}{{ end }}
{{- if and .Values.adopt.model (not (has .Values.adopt.model $names)) }}
{{- $models = append $models (dict "name" .Values.adopt.model "mode" "engine" "block-size" 16) }}
{{- end }}
{{- dict "models" $models | toYaml }}
{{- end }}

{{/* Kvasir's configuration, below "kvasir". */}}
{{- define "kvasir.config" -}}
{{- $cluster := dict
  "port" 7355
  "line-port" 7356
  "discovery" "kubernetes"
  "kubernetes" (dict "selector" (printf "app.kubernetes.io/name=%s,app.kubernetes.io/instance=%s,app.kubernetes.io/component=router" .Chart.Name .Release.Name))
  "required-nodes" (int64 (include "kvasir.requiredNodes" .))
  "minority" .Values.cluster.minority
  "tls" (dict "certificate" "/etc/kvasir-cluster-tls/tls.crt" "key" "/etc/kvasir-cluster-tls/tls.key" "authority" "/etc/kvasir-cluster-tls/ca.crt") }}
{{- $management := dict
  "host" "0.0.0.0"
  "port" 7626
  "tls" (dict "certificate" "/etc/kvasir-management-tls/tls.crt" "key" "/etc/kvasir-management-tls/tls.key") }}
{{- if ne .Values.monitoring.access "open" }}{{ $_ := set $management "metrics-access" .Values.monitoring.access }}{{ end }}
{{- if .Values.admin.keysSecret }}{{ $_ := set $management "admin-key-file" "/etc/kvasir-admin/keys" }}{{ end }}
{{- $gateway := dict "drain-timeout" (printf "%d s" (int64 .Values.drain.timeoutSeconds)) "port" 8080 }}
{{- if not .Values.gateway.enabled }}{{ $_ := set $gateway "host" "127.0.0.1" }}{{ end }}
{{- if .Values.gateway.tlsSecret }}
{{- $_ := set $gateway "tls" (dict "certificate" "/etc/kvasir-gateway-tls/tls.crt" "key" "/etc/kvasir-gateway-tls/tls.key") }}
{{- end }}
{{- $access := dict "open" .Values.access.open }}
{{- if include "kvasir.keysSecret" . }}{{ $_ := set $access "keys-file" "/etc/kvasir-keys/keys.conf" }}{{ end }}
{{- if .Values.access.isolationSecret }}{{ $_ := set $access "isolation-secret-file" "/etc/kvasir-isolation/secret" }}{{ end }}
{{- $config := dict
  "gateway" $gateway
  "access" $access
  "management" $management
  "cluster" $cluster
  "cell" (dict "index-budget" (printf "%s MiB" (include "kvasir.cellIndexMiB" .)))
  "models" (get (include "kvasir.models" . | fromYaml) "models")
  "log" (dict "format" .Values.log.format "level" .Values.log.level) }}
{{- $kubernetes := dict "selector" (include "kvasir.engineSelector" .) "labels" .Values.engines.labels }}
{{- if .Values.picker.enabled }}
{{- $_ := set $kubernetes "pools" (dict "namespaces" (.Values.picker.namespaces | default (list .Release.Namespace)) "write-status" .Values.picker.writeStatus) }}
{{- end }}
{{- with include "kvasir.engineNamespace" . }}{{ $_ := set $kubernetes "namespace" . }}{{ end }}
{{- with include "kvasir.podDefaults" . | fromYaml }}{{ $_ := set $kubernetes "pod" . }}{{ end }}
{{- $_ := set $config "pods-from" (dict "kubernetes" $kubernetes) }}
{{- if .Values.engines.apiKey.secret }}{{ $_ := set $config "pod-defaults" (dict "api-key-file" "/etc/kvasir-engines/api-key") }}{{ end }}
{{- if .Values.picker.enabled }}
{{- $tls := dict "enabled" .Values.picker.tls.enabled }}
{{- if .Values.picker.tls.secret }}
{{- $_ := set $tls "certificate" "/etc/kvasir-picker-tls/tls.crt" }}
{{- $_ := set $tls "key" "/etc/kvasir-picker-tls/tls.key" }}
{{- end }}
{{- $_ := set $config "picker" (dict "enabled" true "port" 9002 "health-port" 9003 "tls" $tls "keys" (ne (include "kvasir.keysSecret" .) "")) }}
{{- end }}
{{- if include "kvasir.tellsKeda" . }}
{{- $_ := set $config "scale" (dict "keda" (dict "enabled" true "port" 9005)) }}
{{- end }}
{{- if .Values.persistence.enabled }}
{{- /* Where there is a store of keys, requests need one. */}}
{{- if not .Values.access.open }}{{ $_ := set $access "store" "/var/lib/kvasir/keys.json" }}{{ end }}
{{- $_ := set $config "audit" (dict "path" "/var/lib/kvasir/audit.jsonl") }}
{{- $_ := set $config "decisions" (dict "path" "/var/lib/kvasir/decisions.jsonl") }}
{{- end }}
{{- mergeOverwrite $config (deepCopy .Values.config) | toPrettyJson }}
{{- end }}

{{/* Whether the gateway's Service is for clients from anywhere, whose addresses no policy can know. */}}
{{- define "kvasir.anyClient" -}}
{{- if and (eq (toString .Values.networkPolicy.clients) "auto") (ne .Values.gateway.service.type "ClusterIP") }}true{{ end }}
{{- end }}

{{/* Whether KEDA asks the nodes: some engines are scaled by their model. */}}
{{- define "kvasir.tellsKeda" -}}
{{- range .Values.autoscaling.engines }}{{ if .model }}true{{ end }}{{ end }}
{{- end }}

{{/* Mistakes that a schema cannot see. */}}
{{- define "kvasir.check" -}}
{{- if and .Values.gateway.enabled .Values.access.open .Values.networkPolicy.enabled (include "kvasir.anyClient" .) }}
{{- fail "access.open lets everybody use the engines who reaches the gateway: say in networkPolicy.clients who does, or set gateway.service.type ClusterIP" }}
{{- end }}
{{- if not (or .Values.gateway.enabled .Values.picker.enabled) }}
{{- fail "nothing is served: set gateway.enabled, picker.enabled or both" }}
{{- end }}
{{- if and (eq .Values.tls.source "secrets") (not (and .Values.tls.clusterSecret .Values.tls.managementSecret)) }}
{{- fail "tls.source is secrets: name them in tls.clusterSecret and tls.managementSecret" }}
{{- end }}
{{- with .Values.monitoring }}
{{- if and (eq .access "kubernetes") .podMonitor.enabled (not .podMonitor.tokenSecret) }}
{{- fail "monitoring.access is kubernetes: name the Secret with Prometheus' token in monitoring.podMonitor.tokenSecret" }}
{{- end }}
{{- end }}
{{- if and .Values.pools (not .Values.picker.enabled) }}
{{- fail "pools are the picker's: set picker.enabled, or leave them out" }}
{{- end }}
{{- if and .Values.access.open .Values.access.keysSecret }}
{{- fail "access.open is for a gateway without keys, and access.keysSecret names some: set one of them" }}
{{- end }}
{{- if and .Values.gateway.route.parentRefs (not .Values.gateway.enabled) }}
{{- fail "gateway.route is for gateway.enabled; routes to a pool are its own" }}
{{- end }}
{{- /* Options of the JVM lose to the chart's heap, or win and leave the memory limit behind. */}}
{{- range .Values.extraEnv }}
{{- $options := has .name (list "KVASIR_JAVA_OPTS" "JAVA_TOOL_OPTIONS" "JDK_JAVA_OPTIONS") }}
{{- if or (eq (toString .name) "KVASIR_HEAP") (and $options (regexMatch "-Xmx|-XX:Max(HeapSize|RAM)" (toString .value))) }}
{{- fail (printf "%s in extraEnv sets a heap of which the memory limit does not know: set heap, in MiB, instead" .name) }}
{{- end }}
{{- end }}
{{- range .Values.models }}
{{- if not .name }}{{ fail "each of models has a name, as requests call it" }}{{ end }}
{{- end }}
{{- $names := list }}
{{- range .Values.pools }}
{{- if has .name $names }}{{ fail (printf "two pools are called %s" .name) }}{{ end }}
{{- $names = append $names .name }}
{{- end }}
{{- end }}
