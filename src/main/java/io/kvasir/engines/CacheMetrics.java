package io.kvasir.engines;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What the Prometheus page of vLLM, or of what acts as it, tells of the KV cache: the labels of
 * {@code vllm:cache_config_info}, of which every data-parallel rank has one series. Label values are Python's, such as
 * {@code True} and {@code None}.
 */
final class CacheMetrics {
  private static final String SERIES = "vllm:cache_config_info{";
  /** Possessive, for a repetition that can go back recurses once for every character of a value. */
  private static final Pattern LABEL = Pattern.compile("([a-zA-Z_]\\w*)=\"((?:[^\"\\\\]|\\\\.)*+)\"");

  private final List<Map<String, String>> ranks = new ArrayList<>();

  CacheMetrics(String page) {
    for (String line : page.lines().filter(line -> line.startsWith(SERIES)).toList()) {
      ranks.add(labels(line));
    }
  }

  /** The labels of a line, their values as they stand there. */
  static Map<String, String> labels(String line) {
    Map<String, String> labels = new HashMap<>();
    Matcher label = LABEL.matcher(line);
    while (label.find()) {
      labels.put(label.group(1), label.group(2));
    }
    return labels;
  }

  /** The cache of each rank. */
  CacheDescription cache() {
    return new CacheDescription(
        count("block_size"), count("num_gpu_blocks"), ranks.isEmpty() ? null : ranks.size(),
        flag("enable_prefix_caching"), text("prefix_caching_hash_algo"), null);
  }

  private @Nullable String text(String label) {
    return ranks.isEmpty() || "None".equals(ranks.getFirst().get(label)) ? null : ranks.getFirst().get(label);
  }

  private @Nullable Integer count(String label) {
    String text = text(label);
    return text != null && text.matches("[1-9]\\d{0,8}") ? Integer.valueOf(text) : null;
  }

  private @Nullable Boolean flag(String label) {
    String text = text(label);
    return "True".equals(text) ? Boolean.TRUE : "False".equals(text) ? Boolean.FALSE : null;
  }
}
