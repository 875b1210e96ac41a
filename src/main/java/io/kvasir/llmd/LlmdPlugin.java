package io.kvasir.llmd;

import static io.kvasir.llmd.LlmdPlugin.Kind.ADMITTER;
import static io.kvasir.llmd.LlmdPlugin.Kind.DATA;
import static io.kvasir.llmd.LlmdPlugin.Kind.DECIDER;
import static io.kvasir.llmd.LlmdPlugin.Kind.DETECTOR;
import static io.kvasir.llmd.LlmdPlugin.Kind.FILTER;
import static io.kvasir.llmd.LlmdPlugin.Kind.HANDLER;
import static io.kvasir.llmd.LlmdPlugin.Kind.PARSER;
import static io.kvasir.llmd.LlmdPlugin.Kind.PICKER;
import static io.kvasir.llmd.LlmdPlugin.Kind.POLICY;
import static io.kvasir.llmd.LlmdPlugin.Kind.PRODUCER;
import static io.kvasir.llmd.LlmdPlugin.Kind.SCORER;
import static io.kvasir.llmd.TranslatedPart.Verdict.MISSING;
import static io.kvasir.llmd.TranslatedPart.Verdict.NEEDLESS;
import static io.kvasir.llmd.TranslatedPart.Verdict.SAME;
import static io.kvasir.llmd.TranslatedPart.Verdict.SIMILAR;

import io.kvasir.llmd.TranslatedPart.Verdict;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The plugin types of llm-d's picker, each with what Kvasir has in its place. */
enum LlmdPlugin {
  LABEL_SELECTOR_FILTER(FILTER, SAME, "the filter labels, with the same selector"),
  BY_LABEL_SELECTOR(FILTER, SAME, "the filter labels, with the same selector"),
  PREFILL_FILTER(FILTER, SAME, "the filter role, which every profile has"),
  DECODE_FILTER(FILTER, SAME, "the filter role, which every profile has"),
  ENCODE_FILTER(FILTER, SAME, "the filter role, which every profile has"),
  SERVED_MODEL_FILTER(FILTER, SAME, "the filter model, which every profile has"),
  PREFIX_CACHE_AFFINITY_FILTER(FILTER, SAME, "the filter warm, of which the profile sticky is made"),
  SESSION_AFFINITY_FILTER(FILTER, SIMILAR,
      "the picker session: the router remembers each session's worker and gives clients no token"),
  UTILIZATION_FILTER(FILTER, SIMILAR, "the filters overload and saturation, which keep all workers when none passes"),
  ACTIVE_REQUEST_FILTER(FILTER, SIMILAR, "the filter saturation, which keeps all workers when none passes"),
  SLO_HEADROOM_TIER_FILTER(FILTER, MISSING,
      "workers are not put into tiers by predicted latency; the filter start-in-time removes those whose first token"
          + " would take longer than a time that you set"),
  ENDPOINT_ATTRIBUTE_FILTER(FILTER, MISSING,
      "filters go by labels and by what overload reads of an engine's metrics; label the pods and use the filter"
          + " labels"),
  TOPOLOGY_AFFINITY_FILTER(FILTER, MISSING,
      "nearness excludes no worker; give the scorer near-prefill a high weight in the profile of decode"),
  HEADER_BASED_TESTING_FILTER(FILTER, SAME, Words.CONFORMANCE),
  MULTICLUSTER_SESSION_AFFINITY_FILTER(FILTER, MISSING, Words.CLUSTERS),

  PREFIX_CACHE_SCORER(SCORER, SAME, "the scorer cache-affinity, which goes by the engines' own cache events"),
  PRECISE_PREFIX_CACHE_SCORER(SCORER, SAME, "the scorer cache-affinity, which goes by the engines' own cache events"),
  QUEUE_SCORER(SCORER, SIMILAR,
      "the scorer least-load by queue: what is booked on each worker, as it happens, instead of a scraped length"),
  KV_CACHE_UTILIZATION_SCORER(SCORER, SAME, "the scorer kv-room"),
  RUNNING_REQUESTS_SIZE_SCORER(SCORER, SIMILAR,
      "the scorer least-load by requests, which counts waiting requests as well as running ones"),
  ACTIVE_REQUEST_SCORER(SCORER, SAME, "the scorer least-load by requests"),
  LOAD_AWARE_SCORER(SCORER, SIMILAR, "the scorer least-load by queue, between the least and the most loaded worker"),
  TOKEN_LOAD_SCORER(SCORER, SIMILAR, "the scorer least-load by tokens, between the least and the most loaded worker"),
  LORA_AFFINITY_SCORER(SCORER, SAME, "the scorer lora-affinity"),
  NO_HIT_LRU_SCORER(SCORER, SAME, "the scorer no-hit-lru"),
  SESSION_AFFINITY_SCORER(SCORER, SIMILAR,
      "the scorer session-affinity, by a hash of the session's key: clients send a key of their own and get no token"),
  TOPOLOGY_AFFINITY_SCORER(SCORER, SIMILAR,
      "the scorer near-prefill when decode is chosen, because here the prefill worker is chosen first"),
  LATENCY_SCORER(SCORER, SIMILAR,
      "the scorer expected-cost: milliseconds by coefficients that are measured as requests go, without a sidecar"),
  ENDPOINT_ATTRIBUTE_SCORER(SCORER, SIMILAR,
      "the scorer external-metric, by figures that you post to /admin/figures under the attribute's name"),
  CONTEXT_LENGTH_AWARE(SCORER, MISSING,
      "no scorer goes by a prompt's length; give workers for long contexts a label, and the models or tenants that need"
          + " them a profile with the filter labels (routing.models, routing.tenants)"),
  MM_EMBEDDINGS_CACHE_SCORER(SCORER, MISSING,
      "encoded images are not tracked apart; prompts with the same images share blocks, which cache-affinity counts"),
  HEADER_LABEL_AFFINITY_SCORER(SCORER, MISSING,
      "clients' wishes exclude rather than prefer; use the preparer client-wishes and the filter labels with"
          + " from-client = true"),
  MULTICLUSTER_QUEUE_SCORER(SCORER, MISSING, Words.CLUSTERS),
  MULTICLUSTER_KV_CACHE_UTILIZATION_SCORER(SCORER, MISSING, Words.CLUSTERS),
  MULTICLUSTER_PREFIX_CACHE_SCORER(SCORER, MISSING, Words.CLUSTERS),
  MULTICLUSTER_TOPOLOGY_SCORER(SCORER, MISSING, Words.CLUSTERS),

  MAX_SCORE_PICKER(PICKER, SAME, "the picker max-score"),
  RANDOM_PICKER(PICKER, SAME, "the picker random"),
  WEIGHTED_RANDOM_PICKER(PICKER, SIMILAR,
      "the picker weighted-random, which draws by a softmax over the scores; temperature says how strongly"),

  SINGLE_PROFILE_HANDLER(HANDLER, SAME, "routing.profile"),
  DISAGG_PROFILE_HANDLER(HANDLER, SIMILAR, Words.WORKFLOW),
  PD_PROFILE_HANDLER(HANDLER, SIMILAR, Words.WORKFLOW),
  HEADER_PROFILE_HANDLER(HANDLER, SAME,
      "profiles that clients name by EPP-Profile; without it routing.profile decides"),
  DATA_PARALLEL_PROFILE_HANDLER(HANDLER, NEEDLESS, "each rank of a pod is a worker; its rank goes with the request"),
  DISAGG_HEADERS_HANDLER(DATA, NEEDLESS, "workers of other steps are told to engines by kv-transfer, not by a plugin"),
  PREFILL_HEADER_HANDLER(DATA, NEEDLESS, "workers of other steps are told to engines by kv-transfer, not by a plugin"),
  PREFIX_BASED_PD_DECIDER(DECIDER, SIMILAR,
      "remote-prefill = auto and least-tokens: the decode worker computes a prompt also where that costs less"),
  ALWAYS_DISAGG_PD_DECIDER(DECIDER, SAME, "remote-prefill = always"),
  ALWAYS_DISAGG_MULTIMODAL_DECIDER(DECIDER, SAME, "the workflow encode-prefill-decode"),

  TOKEN_PRODUCER(PRODUCER, SIMILAR, Words.TOKENS),
  TOKENIZER(PRODUCER, SIMILAR, Words.TOKENS),
  APPROX_PREFIX_CACHE_PRODUCER(PRODUCER, SAME, "pods without events: what was sent is assumed to be kept"),
  PRECISE_PREFIX_CACHE_PRODUCER(PRODUCER, SAME, "events of pods, shared by all router nodes"),
  BURST_PREFIX_CACHE_PRODUCER(PRODUCER, NEEDLESS, "requests under way count as cached where they were sent"),
  INFLIGHT_LOAD_PRODUCER(PRODUCER, NEEDLESS, "load is booked as requests come and go, over all router nodes"),
  PREDICTED_LATENCY_PRODUCER(PRODUCER, NEEDLESS,
      "the engines' latency coefficients are measured as requests go (kvasir train fits them beforehand)"),
  SESSION_ID_PRODUCER(PRODUCER, SAME, "the preparer session-key"),
  MM_EMBEDDINGS_CACHE_PRODUCER(PRODUCER, MISSING, "encoded images are not tracked apart from the blocks of prompts"),
  P2P_SOURCE_PRODUCER(PRODUCER, SIMILAR,
      "every profile has workers pull from each other what costs less than to compute it, where their pods have"
          + " kv-transfer.dialect = vllm-p2p"),

  METRICS_DATA_SOURCE(DATA, NEEDLESS, Words.METRICS),
  CORE_METRICS_EXTRACTOR(DATA, NEEDLESS, Words.METRICS),
  MODELS_DATA_SOURCE(DATA, NEEDLESS, "a worker's models are part of its pod; GET /v1/models lists them"),
  MODELS_DATA_EXTRACTOR(DATA, NEEDLESS, "a worker's models are part of its pod; GET /v1/models lists them"),
  MODELS_RESPONDER(DATA, NEEDLESS, "GET /v1/models is answered by the router"),
  ENDPOINT_NOTIFICATION_SOURCE(DATA, NEEDLESS, "pods are watched, and their events with them"),
  K8S_NOTIFICATION_SOURCE(DATA, NEEDLESS, "pods are watched, and their events with them"),
  TOPOLOGY_EXTRACTOR(DATA, SAME, "pods-from.kubernetes.labels"),
  DCGM_DATA_SOURCE(DATA, MISSING, Words.GPUS),
  DCGM_EXTRACTOR(DATA, MISSING, Words.GPUS),
  FILE_DISCOVERY(DATA, MISSING,
      "its file has another form; write the pods into a file of Kvasir's (kvasir init URL ... writes them) and name it"
          + " in pods-from.file.path"),
  MULTICLUSTER_FILE_DISCOVERY(DATA, MISSING, Words.CLUSTERS),
  MULTICLUSTER_METRICS_DATA_SOURCE(DATA, MISSING, Words.CLUSTERS),
  MULTICLUSTER_METRICS_EXTRACTOR(DATA, MISSING, Words.CLUSTERS),

  OPENAI_PARSER(PARSER, NEEDLESS, Words.APIS),
  ANTHROPIC_PARSER(PARSER, NEEDLESS, Words.APIS),
  VLLMHTTP_PARSER(PARSER, NEEDLESS, Words.APIS),
  SGLANGHTTP_PARSER(PARSER, NEEDLESS, Words.APIS),
  PASSTHROUGH_PARSER(PARSER, NEEDLESS, "requests that are not understood go to the least loaded worker"),
  VLLMGRPC_PARSER(PARSER, MISSING, "generation over gRPC is not routed by its prompt; use the engines' HTTP APIs"),
  VERTEXAI_PARSER(PARSER, MISSING, "Vertex AI's form of requests is not read; send OpenAI's or Anthropic's"),

  UTILIZATION_DETECTOR(DETECTOR, SIMILAR, "the filter overload, in profiles that name it"),
  CONCURRENCY_DETECTOR(DETECTOR, SIMILAR, "the filter saturation in profiles that name it, and max-in-flight of pods"),
  GLOBAL_STRICT_FAIRNESS_POLICY(POLICY, MISSING,
      "where requests wait (admission), the tenants of a class always have fair shares"),
  ROUND_ROBIN_FAIRNESS_POLICY(POLICY, SIMILAR, "admission: tenants have equal shares of tokens instead of turns"),
  PROGRAM_AWARE_FAIRNESS(POLICY, SIMILAR, "admission: the programs of a tenant have equal shares of tokens"),
  FCFS_ORDERING_POLICY(POLICY, SIMILAR, "admission: the requests of a program go by their arrival"),
  EDF_ORDERING_POLICY(POLICY, MISSING, Words.ARRIVAL),
  SLO_DEADLINE_ORDERING_POLICY(POLICY, MISSING, Words.ARRIVAL),
  STATIC_USAGE_LIMIT_POLICY(POLICY, SIMILAR, Words.ENGINE_QUEUE),
  PRIORITY_HOLDBACK_POLICY(POLICY, SIMILAR, Words.ENGINE_QUEUE),
  SOFT_REFLECTIVE_CEILING_POLICY(POLICY, SIMILAR, Words.ENGINE_QUEUE),
  LATENCY_SLO_ADMITTER(ADMITTER, MISSING,
      "no request is refused by a prediction against its own target; the filter start-in-time refuses those that would"
          + " start later than a time that you set"),
  PROBABILISTIC_ADMITTER(ADMITTER, MISSING,
      "no request is refused by chance; limits of keys and tenants (conf/README.md) bound what each may use"),
  AGENT_IDENTITY(ADMITTER, MISSING, "who asks is told by API keys, tokens or routing.tenant-headers"),
  OUTLEN_BUCKET(ADMITTER, NEEDLESS, "expected output lengths are learnt from the answers"),
  REQUEST_ATTRIBUTE_REPORTER(ADMITTER, MISSING,
      "gateways get no attributes of requests; records of decisions and metrics have them"),
  DESTINATION_ENDPOINT_SERVED_VERIFIER(ADMITTER, SAME, Words.CONFORMANCE);

  /** What plugins of a type are for. */
  enum Kind { FILTER, SCORER, PICKER, HANDLER, DECIDER, PRODUCER, DATA, PARSER, DETECTOR, POLICY, ADMITTER }

  /** Sentences that several types share. */
  private static final class Words {
    static final String CLUSTERS = "pools of other clusters are not routed to; give each cluster its own routers";
    static final String CONFORMANCE = "picker.conformance, for conformance tests of gateways only";
    static final String METRICS =
        "load is booked as requests come and go; engines' metrics only correct it (cell.health.reports)";
    static final String GPUS = "GPUs are not watched; engines' own metrics correct the load (cell.health.reports)";
    static final String APIS = "all these APIs are understood";
    static final String TOKENS =
        "an entry of models; the router tokenises, or asks an engine, instead of a renderer";
    static final String WORKFLOW =
        "a workflow, which chooses the prefill worker first; the gateway sends both requests itself, without a sidecar";
    static final String ARRIVAL =
        "where requests wait (admission), those of a program go by their arrival, not by deadlines";
    static final String ENGINE_QUEUE =
        "engine-queue in admission.classes bounds by time what is queued at a worker when a request of the class goes";

    private Words() {}
  }

  private static final Map<String, LlmdPlugin> BY_NAME =
      Arrays.stream(values()).collect(Collectors.toUnmodifiableMap(LlmdPlugin::wireName, Function.identity()));

  private final Kind kind;
  private final Verdict verdict;
  private final String sentence;

  LlmdPlugin(Kind kind, Verdict verdict, String sentence) {
    this.kind = kind;
    this.verdict = verdict;
    this.sentence = sentence;
  }

  /** The type of this name, null where nobody knows it. */
  static @Nullable LlmdPlugin of(String name) {
    return BY_NAME.get(name);
  }

  /** All names, for suggestions. */
  static List<String> names() {
    return Arrays.stream(values()).map(LlmdPlugin::wireName).toList();
  }

  /** The name in files. */
  String wireName() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  Kind kind() {
    return kind;
  }

  Verdict verdict() {
    return verdict;
  }

  String sentence() {
    return sentence;
  }
}
