package io.kvasir.engines;

import static java.util.Map.entry;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What the pages of vLLM, SGLang and llama.cpp tell of their load in Prometheus' format: a gauge of each rank. */
public enum LoadGauge {
  /** Requests that run. */
  RUNNING,
  /** Requests that wait. */
  WAITING,
  /** The share of the KV cache that is in use, 0 to 1. */
  KV_USE;

  private static final Map<String, LoadGauge> BY_NAME =
      Map.ofEntries(
          entry("vllm:num_requests_running", RUNNING),
          entry("vllm:num_requests_waiting", WAITING),
          entry("vllm:kv_cache_usage_perc", KV_USE),
          // Before vLLM 0.12.
          entry("vllm:gpu_cache_usage_perc", KV_USE),
          entry("sglang:num_running_reqs", RUNNING),
          entry("sglang:num_queue_reqs", WAITING),
          entry("sglang:token_usage", KV_USE),
          // At its page of loads.
          entry("sglang_num_running_reqs", RUNNING),
          entry("sglang_num_waiting_reqs", WAITING),
          entry("sglang_token_usage", KV_USE),
          entry("llamacpp:requests_processing", RUNNING),
          entry("llamacpp:requests_deferred", WAITING));

  /** The page of all metrics. */
  public static final String ALL_METRICS = "/metrics";

  /**
   * The page of these gauges alone, which vLLM has at this path (its {@code
   * entrypoints/serve/instrumentator/metrics.py}) as any server of the Prometheus client for Python. The page of all
   * metrics costs the engine ten times as much CPU time on the thread that streams its answers.
   */
  public static final String ALONE =
      BY_NAME.keySet().stream()
          // Those of SGLang's page of loads, which are no metrics, have no colon.
          .filter(name -> name.contains(":"))
          .sorted()
          .map(name -> encode("name[]") + "=" + encode(name))
          .collect(Collectors.joining("&", ALL_METRICS + "/?", ""));

  /**
   * SGLang's page of these and some more gauges (its {@code entrypoints/v1_loads.py}), which it has with and without
   * {@code --enable-metrics}, and which takes no metrics of several processes together.
   */
  public static final String SGLANG_LOADS = "/v1/loads?include=core&format=prometheus";

  private static final List<String> PAGES = List.of(ALONE, SGLANG_LOADS, ALL_METRICS);

  /** The pages that may have them, those that cost the engine least first, that of all metrics last. */
  public static List<String> pages() {
    return PAGES;
  }

  /** The gauges by the names that engines have for them. */
  public static Map<String, LoadGauge> byName() {
    return BY_NAME;
  }

  /** Whether a page has one of them. */
  static boolean isOn(String page) {
    return page.lines().anyMatch(line -> {
      int end = 0;
      while (end < line.length() && line.charAt(end) != '{' && line.charAt(end) != ' ') {
        end++;
      }
      return BY_NAME.containsKey(line.substring(0, end));
    });
  }

  private static String encode(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8);
  }
}
