package io.kvasir.llmd;

import static io.kvasir.llmd.TranslatedPart.Verdict.MISSING;
import static io.kvasir.llmd.TranslatedPart.Verdict.NEEDLESS;
import static io.kvasir.llmd.TranslatedPart.Verdict.SAME;
import static io.kvasir.llmd.TranslatedPart.Verdict.SIMILAR;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.Locale;

/** The arguments of llm-d's picker, each with what Kvasir has in its place. */
public enum PickerArgument {
  POOL_NAME("NAME", SIMILAR,
      "all InferencePools of --pool-namespace are watched, not only this one: one Kvasir picks for many pools"),
  POOL_NAMESPACE("NAME", SAME, "pods-from.kubernetes.pools.namespaces and pods-from.kubernetes.namespace"),
  POOL_GROUP("GROUP", SAME, "inference.networking.k8s.io is the group of InferencePools"),
  ENDPOINT_SELECTOR("LABELS", SAME, "pods-from.kubernetes.selector"),
  ENDPOINT_TARGET_PORTS("PORTS", SAME, "pods-from.kubernetes.pod.url, for pods that do not say their port"),
  DISABLE_ENDPOINT_SUBSET_FILTER(MISSING, "endpoints that a gateway names are always respected"),
  EMIT_ENDPOINT_SCORES(MISSING, "gateways get no scores; /admin/decisions and X-Router-Reason have them"),

  GRPC_PORT("PORT", SAME, "picker.port"),
  GRPC_HEALTH_PORT("PORT", SAME, "picker.health-port"),
  METRICS_PORT("PORT", SAME, "management.port, where /metrics is"),
  SECURE_SERVING(SAME, "picker.tls.enabled"),
  CERT_PATH("DIRECTORY", SAME, "picker.tls.certificate and picker.tls.key"),
  ENABLE_CERT_RELOAD(NEEDLESS, "changed certificates are always read anew (picker.tls.reload)"),
  TLS_MIN_VERSION("VERSION", NEEDLESS, "TLS 1.2 and 1.3 are spoken, nothing older"),
  DRAIN_TIMEOUT("DURATION", SAME, "gateway.drain-timeout"),
  GRPC_MAX_RECV_MSG_SIZE("SIZE", NEEDLESS, "messages may have any size; picker.max-body bounds a request's body"),
  GRPC_MAX_SEND_MSG_SIZE("SIZE", NEEDLESS, "replies are cut into messages that every gateway takes"),
  HA_ENABLE_LEADER_ELECTION(NEEDLESS,
      "all replicas pick, none leads; set kvasir.cluster (discovery = kubernetes) so that they share what each knows"),
  HEALTH_CHECKING(NEEDLESS, "health is always served"),

  CONFIG_FILE("FILE", SAME, "translated, as kvasir validate --llm-d shows"),
  CONFIG_TEXT("TEXT", SAME, "translated, as kvasir validate --llm-d shows"),
  FEATURE_GATES("GATES", MISSING, "feature gates of the file are translated; name them there"),
  ALLOW_EXPERIMENTAL_PLUGINS(NEEDLESS, "a plugin that has a counterpart is translated, experimental or not"),

  METRICS_ENDPOINT_AUTH(MISSING,
      "/metrics answers whoever reaches its port, without Kubernetes' tokens: let only Prometheus reach it (a"
          + " NetworkPolicy, or management.tls with a client-authority)"),
  METRICS_CERT_DIR("DIRECTORY", SAME, "management.tls.certificate and management.tls.key"),
  METRICS_CLIENT_CA_FILE("FILE", SAME, "management.tls.client-authority"),
  ENABLE_GRPC_STREAM_METRICS(NEEDLESS, "streams are always counted"),
  ENABLE_PPROF(NEEDLESS, "profiles are recorded by the JDK (jcmd PID JFR.start)"),
  TRACING(NEEDLESS, "traces are sent where tracing.endpoint, or OpenTelemetry's variables, say"),
  FAIRNESS_ID_METRIC_LABEL_LIMIT("NUMBER", NEEDLESS, "limits.metric-tenants bounds the tenants in metrics"),
  REFRESH_METRICS_INTERVAL("DURATION", NEEDLESS, Words.LEDGER),
  REFRESH_PROMETHEUS_METRICS_INTERVAL("DURATION", NEEDLESS, "metrics are read when they are asked for"),
  METRICS_STALENESS_THRESHOLD("DURATION", NEEDLESS, Words.LEDGER),
  MODEL_SERVER_METRICS_PORT("PORT", MISSING, Words.SCRAPE),
  MODEL_SERVER_METRICS_PATH("PATH", MISSING, Words.SCRAPE),
  MODEL_SERVER_METRICS_SCHEME("SCHEME", MISSING, Words.SCRAPE),
  MODEL_SERVER_METRICS_HTTPS_INSECURE_SKIP_VERIFY(MISSING, "certificates of pods are always verified (execution.tls)"),
  TOTAL_QUEUED_REQUESTS_METRIC("METRIC", NEEDLESS, Words.NAMES),
  TOTAL_RUNNING_REQUESTS_METRIC("METRIC", NEEDLESS, Words.NAMES),
  KV_CACHE_USAGE_PERCENTAGE_METRIC("METRIC", NEEDLESS, Words.NAMES),
  LORA_INFO_METRIC("METRIC", NEEDLESS, Words.NAMES),
  CACHE_INFO_METRIC("METRIC", NEEDLESS, Words.NAMES),
  PLUGIN_STATE_STALENESS_THRESHOLD("DURATION", NEEDLESS, "what a request left behind ends with it"),

  V("LEVEL", SIMILAR, "log.level: up to 3 INFO, 4 DEBUG, above TRACE"),
  ZAP_ENCODER("ENCODER", SAME, "log.format"),
  ZAP_LOG_LEVEL("LEVEL", SIMILAR, "log.level"),
  ZAP_DEVEL(NEEDLESS, "log.level and log.format say all"),
  ZAP_STACKTRACE_LEVEL("LEVEL", NEEDLESS, "stack traces are logged for unforeseen faults"),
  ZAP_TIME_ENCODING("ENCODING", NEEDLESS, "times are in ISO 8601");

  /** Sentences that several arguments share. */
  private static final class Words {
    static final String LEDGER = "load is booked as requests come and go; engines' metrics only correct it";
    static final String SCRAPE = "an engine's metrics are read at its own address, under /metrics";
    static final String NAMES = "the metrics of vLLM, SGLang and TensorRT-LLM are known by their names";

    private Words() {}
  }

  private final String value;
  private final Verdict verdict;
  private final String sentence;

  PickerArgument(Verdict verdict, String sentence) {
    this("", verdict, sentence);
  }

  PickerArgument(String value, Verdict verdict, String sentence) {
    this.value = value;
    this.verdict = verdict;
    this.sentence = sentence;
  }

  /** The argument as it is written, such as {@code --grpc-port}. */
  public String flag() {
    return "--" + name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** What its value is, in a word; empty for one that is true or false. */
  public String valueName() {
    return value;
  }

  /** Whether it is true or false, and true where no value is given. */
  public boolean isSwitch() {
    return value.isEmpty();
  }

  /** How near Kvasir comes to it. */
  public Verdict verdict() {
    return verdict;
  }

  /** The counterpart, or why there is none and what to do. */
  public String sentence() {
    return sentence;
  }
}
