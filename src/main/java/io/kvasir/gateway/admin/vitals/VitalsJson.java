package io.kvasir.gateway.admin.vitals;

import static io.kvasir.gateway.admin.vitals.VitalFigure.BEST_TOKENS;
import static io.kvasir.gateway.admin.vitals.VitalFigure.DELIVERED_TOKENS;
import static io.kvasir.gateway.admin.vitals.VitalFigure.EVER_TOKENS;
import static io.kvasir.gateway.admin.vitals.VitalFigure.PROMISED_TOKENS;
import static io.kvasir.gateway.admin.vitals.VitalFigure.REPORTED_TOKENS;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.OptionalDouble;

/** Vital figures as the admin API shows them. */
final class VitalsJson {
  private static final int[] PERCENTILES = {50, 90, 99};

  private VitalsJson() {}

  /** Puts the rates, quantiles, shares and counts of a node, or of several together. */
  static void put(ObjectNode into, VitalFigures figures) {
    into.put("requests_per_s", rounded(figures.of(VitalFigure.REQUESTS)))
        .put("errors_per_s", rounded(figures.of(VitalFigure.ERRORS)))
        .put("refusals_per_s", rounded(figures.of(VitalFigure.REFUSALS)))
        .put("events_per_s", rounded(figures.of(VitalFigure.EVENTS)));
    ObjectNode ttft = into.putObject("ttft_ms");
    for (int percent : PERCENTILES) {
      OptionalDouble seconds = figures.ttft().quantile(percent / 100.0);
      seconds.ifPresentOrElse(
          known -> ttft.put("p" + percent, rounded(known * 1e3)), () -> ttft.putNull("p" + percent));
    }
    into.put("in_flight", Math.round(figures.of(VitalFigure.IN_FLIGHT)))
        .put("waiting", Math.round(figures.of(VitalFigure.WAITING)));
    ObjectNode tokens =
        into.putObject("tokens")
            .put("prompt_per_s", rounded(figures.of(VitalFigure.PROMPT_TOKENS)))
            .put("output_per_s", rounded(figures.of(VitalFigure.OUTPUT_TOKENS)));
    putShare(tokens, "ever", figures.share(EVER_TOKENS, REPORTED_TOKENS));
    putShare(tokens, "best", figures.share(BEST_TOKENS, REPORTED_TOKENS));
    putShare(tokens, "promised", figures.share(PROMISED_TOKENS, REPORTED_TOKENS));
    putShare(tokens, "delivered", figures.share(DELIVERED_TOKENS, REPORTED_TOKENS));
    putShare(into, "regret", figures.regret());
  }

  /** Puts a share from 0 to 1, null where there is none. */
  static void putShare(ObjectNode into, String name, OptionalDouble share) {
    share.ifPresentOrElse(known -> into.put(name, Math.round(1e4 * known) / 1e4), () -> into.putNull(name));
  }

  static double rounded(double value) {
    return Math.round(value * 100) / 100.0;
  }
}
