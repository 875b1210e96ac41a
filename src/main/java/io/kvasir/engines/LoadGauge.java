package io.kvasir.engines;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.stream.Collectors;

/** What the Prometheus pages of vLLM, SGLang and llama.cpp tell of their load: a gauge of each rank. */
public enum LoadGauge {
  /** Requests that run. */
  RUNNING,
  /** Requests that wait. */
  WAITING,
  /** The share of the KV cache that is in use, 0 to 1. */
  KV_USE;

  private static final Map<String, LoadGauge> BY_NAME =
      Map.of(
          "vllm:num_requests_running", RUNNING,
          "vllm:num_requests_waiting", WAITING,
          "vllm:kv_cache_usage_perc", KV_USE,
          // Before vLLM 0.12.
          "vllm:gpu_cache_usage_perc", KV_USE,
          "sglang:num_running_reqs", RUNNING,
          "sglang:num_queue_reqs", WAITING,
          "sglang:token_usage", KV_USE,
          "llamacpp:requests_processing", RUNNING,
          "llamacpp:requests_deferred", WAITING);

  /** The page of all metrics. */
  public static final String ALL_METRICS = "/metrics";

  /**
   * The page of these gauges alone, which vLLM has at this path (its {@code
   * entrypoints/serve/instrumentator/metrics.py}) as any server of the Prometheus client for Python. The page of all
   * metrics costs the engine ten times as much CPU time on the thread that streams its answers.
   */
  public static final String ALONE =
      BY_NAME.keySet().stream()
          .sorted()
          .map(name -> encode("name[]") + "=" + encode(name))
          .collect(Collectors.joining("&", ALL_METRICS + "/?", ""));

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
