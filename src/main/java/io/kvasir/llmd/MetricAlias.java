package io.kvasir.llmd;

import static io.kvasir.llmd.MetricAlias.Shape.COUNT;
import static io.kvasir.llmd.MetricAlias.Shape.DEVIATION;
import static io.kvasir.llmd.MetricAlias.Shape.DISTRIBUTION;
import static io.kvasir.llmd.MetricAlias.Shape.GAUGE;
import static io.kvasir.llmd.MetricAlias.Shape.MEAN;
import static io.kvasir.llmd.MetricAlias.Shape.TOTALS;

import io.prometheus.metrics.model.snapshots.Labels;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * The metrics of llm-d's picker that Kvasir shows by those names, and what each is made of. A label is a constant, or
 * {@code $} and the name of a label of the source; series that then have the same labels are put together.
 */
enum MetricAlias {
  REQUEST_TOTAL(COUNT, "requests", Words.MODEL),
  REQUEST_ERROR_TOTAL(
      COUNT, "requests", Words.MODEL + ",error_code=$status", "status", "4xx,5xx,499"),
  REQUEST_RUNNING(GAUGE, "requests_in_flight", Words.ALL_MODELS),
  REQUEST_DURATION_SECONDS(DISTRIBUTION, "request_seconds", Words.ALL_MODELS),
  REQUEST_TTFT_SECONDS(DISTRIBUTION, "ttft_seconds", Words.MODEL + ",streaming=true"),
  REQUEST_INPUT_TOKENS(TOTALS, "usage_prompt_tokens", Words.MODEL),
  REQUEST_OUTPUT_TOKENS(TOTALS, "usage_output_tokens", Words.MODEL),
  REQUEST_CACHED_TOKENS(TOTALS, "cached_tokens", Words.MODEL, "kind", "actual"),
  REQUEST_SIZE_BYTES(DISTRIBUTION, "request_body_bytes", Words.MODEL),
  REQUEST_NTPOT_SECONDS(DISTRIBUTION, "request_output_token_seconds", Words.MODEL),
  REQUEST_STREAMING_TPOT_SECONDS(DISTRIBUTION, "request_decode_token_seconds", Words.MODEL),

  AVERAGE_KV_CACHE_UTILIZATION(MEAN, "worker_engine_kv_use", Words.POOL),
  AVERAGE_QUEUE_SIZE(MEAN, "worker_engine_waiting", Words.POOL),
  AVERAGE_RUNNING_REQUESTS(MEAN, "worker_engine_running", Words.POOL),
  STD_DEV_KV_CACHE_UTILIZATION(DEVIATION, "worker_engine_kv_use", Words.POOL),
  STD_DEV_QUEUE_SIZE(DEVIATION, "worker_engine_waiting", Words.POOL),
  STD_DEV_RUNNING_REQUESTS(DEVIATION, "worker_engine_running", Words.POOL),
  READY_ENDPOINTS(GAUGE, "worker_healthy", Words.POOL),
  PER_ENDPOINT_QUEUE_SIZE(GAUGE, "worker_engine_waiting", Words.POOL + ",model_server_endpoint=$worker"),

  INFLIGHT_REQUESTS(GAUGE, "worker_in_flight", Words.ENDPOINT),
  INFLIGHT_TOKENS(GAUGE, "worker_pending_tokens", Words.ENDPOINT),
  FLOW_CONTROL_POOL_SATURATION(GAUGE, "cell_pressure", "inference_pool=$cell,stage=effective"),

  SCHEDULER_E2E_DURATION_SECONDS(DISTRIBUTION, "stage_seconds", "", "stage", "decide"),
  DISAGG_DECISION_TOTAL(
      COUNT, "routing_plans",
      "plugin_name=$profile,plugin_type=disagg-profile-handler,model_name=all,decision_type=$prefill"),
  MODEL_REWRITE_DECISIONS_TOTAL(
      COUNT, "picker_model_rewrites", "model_rewrite_name=$rewrite,model_name=$model,target_model=$target"),
  EXTPROC_STREAMS_INFLIGHT(GAUGE, "picker_streams_running", ""),
  EXTPROC_STREAMS_TOTAL(COUNT, "picker_streams", "code=$outcome");

  /** How the series of a source become one. */
  enum Shape {
    /** A counter: the sum. */
    COUNT,
    /** A gauge: the sum of what is known; what is not is negative. */
    GAUGE,
    /** A gauge: the mean of what is known. */
    MEAN,
    /** A gauge: the standard deviation of what is known. */
    DEVIATION,
    /** A histogram: the sum, bucket by bucket. */
    DISTRIBUTION,
    /** A histogram of one bucket, made of a counter and of how many requests it counts: its sum and mean are right. */
    TOTALS
  }

  /** Labels that several metrics have. */
  private static final class Words {
    /** Nothing waits in the router, so there is one flow and one priority. */
    private static final String FLOW = ",fairness_id=default-flow,priority=0";

    static final String MODEL = "model_name=$model,target_model_name=$model" + FLOW;
    static final String ALL_MODELS = "model_name=all,target_model_name=all" + FLOW;
    static final String POOL = "name=$cell";
    static final String ENDPOINT =
        "endpoint_name=$worker,namespace=default,producer_name=inflight-load-producer" + FLOW;

    private Words() {}
  }

  private static final String PREFIX = "llm_d_epp_";

  private final Shape shape;
  private final String source;
  private final String labels;
  private final String onlyLabel;
  private final String onlyValues;

  MetricAlias(Shape shape, String source, String labels) {
    this(shape, source, labels, "", "");
  }

  MetricAlias(Shape shape, String source, String labels, String onlyLabel, String onlyValues) {
    this.shape = shape;
    this.source = "kvasir_" + source;
    this.labels = labels;
    this.onlyLabel = onlyLabel;
    this.onlyValues = onlyValues;
  }

  /** The name, without {@code _total}. */
  String metricName() {
    return PREFIX + name().toLowerCase(Locale.ROOT).replaceFirst("_total$", "");
  }

  /** The metric of Kvasir that it is made of, without {@code _total}. */
  String source() {
    return source;
  }

  Shape shape() {
    return shape;
  }

  /** The names of its labels. */
  List<String> labelNames() {
    return labels().map(label -> label.substring(0, label.indexOf('='))).toList();
  }

  /** The labels of the source that it needs. */
  List<String> sourceLabels() {
    Stream<String> named =
        labelValues().stream().filter(value -> value.startsWith("$")).map(value -> value.substring(1));
    return Stream.concat(named, onlyLabel.isEmpty() ? Stream.empty() : Stream.of(onlyLabel)).toList();
  }

  /** The values of its labels in the order of their names, {@code $} before those that are labels of the source. */
  List<String> labelValues() {
    return labels().map(label -> label.substring(label.indexOf('=') + 1)).toList();
  }

  /**
   * A label's value as llm-d writes it: of streams the status that gRPC has for what became of them, of plans whether
   * prefill is apart.
   *
   * @param label its name in the source
   */
  String written(String label, String value) {
    return switch (this) {
      case EXTPROC_STREAMS_TOTAL -> switch (value) {
        case "cancelled" -> "Canceled";
        case "failed" -> "Internal";
        default -> "OK";
      };
      case DISAGG_DECISION_TOTAL ->
          !label.equals("prefill") ? value : value.equals("remote") ? "prefill-decode" : "decode-only";
      default -> value;
    };
  }

  /** Whether a series of the source counts. */
  boolean counts(Labels series) {
    return onlyLabel.isEmpty() || ("," + onlyValues + ",").contains("," + series.get(onlyLabel) + ",");
  }

  private Stream<String> labels() {
    return labels.isEmpty() ? Stream.empty() : Stream.of(labels.split(",", -1));
  }

  /** What it is, for those who read metrics. */
  String help() {
    return "What llm-d's picker calls so, made of " + source;
  }
}
