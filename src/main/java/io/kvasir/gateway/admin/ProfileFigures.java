package io.kvasir.gateway.admin;

import static io.kvasir.gateway.admin.AdminResponse.object;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.telemetry.MetricWindow;
import io.kvasir.telemetry.MetricWindow.Figures;
import io.prometheus.metrics.model.snapshots.Labels;
import java.util.OptionalDouble;
import java.util.function.Predicate;

/** The figures of routing profiles side by side, of all requests of this node since it started. Thread-safe. */
public final class ProfileFigures {
  private static final String REQUESTS = "kvasir_requests";
  private static final String TTFT = "kvasir_ttft_seconds";
  private static final String PROMPT_TOKENS = "kvasir_usage_prompt_tokens";
  private static final String CACHED_TOKENS = "kvasir_cached_tokens";
  private static final String REGRET_TOKENS = "kvasir_regret_tokens";

  private final MetricWindow window;

  /**
   * Over a node's metrics.
   *
   * @param window of the times to the first token, prompt tokens and cached tokens at least
   */
  public ProfileFigures(MetricWindow window) {
    this.window = window;
  }

  /** Those of all profiles as of now. */
  Figures now() {
    return window.figures();
  }

  /** A profile's; shares and times are null while nothing is known of them. */
  static ObjectNode of(Figures figures, String profile) {
    Predicate<Labels> own = labels -> profile.equals(labels.get("profile"));
    Predicate<Labels> reported = own.and(labels -> "true".equals(labels.get("cache_report")));
    double prompt = figures.total(PROMPT_TOKENS, reported);
    double cached = figures.total(CACHED_TOKENS, own.and(labels -> "actual".equals(labels.get("kind"))));
    double promised = figures.total(CACHED_TOKENS, own.and(labels -> "predicted".equals(labels.get("kind"))));
    ObjectNode shown = object().put("requests", (long) figures.total(REQUESTS, own));
    share(shown, "hit_rate", cached, prompt);
    ObjectNode ttft = shown.putObject("ttft_ms");
    for (int percent : new int[] {50, 90}) {
      OptionalDouble seconds = figures.totalQuantile(TTFT, percent / 100.0, own);
      seconds.ifPresentOrElse(
          known -> ttft.put("p" + percent, Math.round(known * 1e5) / 100.0), () -> ttft.putNull("p" + percent));
    }
    share(shown, "regret", figures.total(REGRET_TOKENS, own), prompt - promised);
    return shown;
  }

  private static void share(ObjectNode into, String name, double part, double whole) {
    if (whole > 0) {
      into.put(name, Math.round(1e4 * Math.min(1, part / whole)) / 1e4);
    } else {
      into.putNull(name);
    }
  }
}
