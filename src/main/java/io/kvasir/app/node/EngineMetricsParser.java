package io.kvasir.app.node;

import io.kvasir.cell.EngineReport;
import io.kvasir.routing.Candidates;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A parser of an engine's load in its {@code /metrics}: the gauges of vLLM, SGLang and llama.cpp, by rank. Only the
 * lines with those names are parsed, because the text may have thousands; malformed lines are ignored.
 */
final class EngineMetricsParser {
  private enum EngineGauge { RUNNING, WAITING, KV_USE }

  private static final Map<String, EngineGauge> NAMES =
      Map.of(
          "vllm:num_requests_running", EngineGauge.RUNNING,
          "vllm:num_requests_waiting", EngineGauge.WAITING,
          "vllm:kv_cache_usage_perc", EngineGauge.KV_USE,
          // Before vLLM 0.12.
          "vllm:gpu_cache_usage_perc", EngineGauge.KV_USE,
          "sglang:num_running_reqs", EngineGauge.RUNNING,
          "sglang:num_queue_reqs", EngineGauge.WAITING,
          "sglang:token_usage", EngineGauge.KV_USE,
          "llamacpp:requests_processing", EngineGauge.RUNNING,
          "llamacpp:requests_deferred", EngineGauge.WAITING);

  /** The labels of engines for their data-parallel ranks. */
  private static final String[] RANKS = {"engine=\"", "dp_rank=\""};

  private EngineMetricsParser() {}

  /** The load by rank; empty when the text has no known gauge. */
  static Map<Integer, EngineReport> read(byte[] text) {
    Map<Integer, EngineReport> reports = new HashMap<>();
    int from = 0;
    while (from < text.length) {
      int to = from;
      while (to < text.length && text[to] != '\n') {
        to++;
      }
      if (mayBeKnown(text[from])) {
        line(new String(text, from, to - from, StandardCharsets.UTF_8), reports);
      }
      from = to + 1;
    }
    return reports;
  }

  private static boolean mayBeKnown(byte first) {
    return first == 'v' || first == 's' || first == 'l';
  }

  private static void line(String line, Map<Integer, EngineReport> reports) {
    int brace = line.indexOf('{');
    int space = line.indexOf(' ');
    int end = brace >= 0 && (space < 0 || brace < space) ? brace : space;
    EngineGauge gauge = end < 0 ? null : NAMES.get(line.substring(0, end));
    if (gauge == null) {
      return;
    }
    int labelsEnd = end == brace ? line.lastIndexOf('}') : end;
    Double value = labelsEnd < end ? null : value(line.substring(labelsEnd + 1));
    if (value == null) {
      return;
    }
    int rank = end == brace ? rank(line.substring(end, labelsEnd)) : 0;
    EngineReport report = switch (gauge) {
      case RUNNING -> new EngineReport((int) (double) value, Candidates.UNKNOWN, Candidates.UNKNOWN);
      case WAITING -> new EngineReport(Candidates.UNKNOWN, (int) (double) value, Candidates.UNKNOWN);
      case KV_USE -> new EngineReport(Candidates.UNKNOWN, Candidates.UNKNOWN, Math.min(1, value));
    };
    reports.merge(rank, report, EngineReport::and);
  }

  /** The value, which a timestamp may follow; null when it is no number that a gauge of load can have. */
  private static @Nullable Double value(String rest) {
    String text = rest.strip();
    int space = text.indexOf(' ');
    try {
      double value = Double.parseDouble(space < 0 ? text : text.substring(0, space));
      return value >= 0 && value < Integer.MAX_VALUE ? value : null;
    } catch (NumberFormatException e) {
      return null;
    }
  }

  private static int rank(String labels) {
    for (String name : RANKS) {
      int at = labels.indexOf(name);
      if (at > 0 && (labels.charAt(at - 1) == '{' || labels.charAt(at - 1) == ',')) {
        int from = at + name.length();
        int to = labels.indexOf('"', from);
        try {
          return to < 0 ? 0 : Integer.parseInt(labels, from, to, 10);
        } catch (NumberFormatException e) {
          return 0;
        }
      }
    }
    return 0;
  }
}
