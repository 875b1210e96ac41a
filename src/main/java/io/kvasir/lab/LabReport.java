package io.kvasir.lab;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** The report on a laboratory's runs. */
public final class LabReport {
  private static final ObjectMapper JSON = new ObjectMapper();

  private final List<RunReport> runs;

  /** A report on runs in the order of their plan. */
  public LabReport(List<RunReport> runs) {
    this.runs = List.copyOf(runs);
  }

  /**
   * Checks, before hours of work are done for it, that a report can be written to a directory, which is made if need
   * be.
   *
   * @throws IOException when it cannot
   */
  public static void requireWritable(Path directory) throws IOException {
    Files.createDirectories(directory);
    Files.delete(Files.createTempFile(directory, "report", ".tmp"));
  }

  /**
   * Writes {@code report.json} (every run), {@code report.txt} (the table), {@code report.html} (plots and tables
   * on one page that needs nothing else) to a directory, which is made if need be.
   */
  public void write(Path directory) throws IOException {
    Files.createDirectories(directory);
    Files.writeString(directory.resolve("report.json"), json());
    Files.writeString(directory.resolve("report.txt"), ResultTable.of(runs));
    Files.writeString(directory.resolve("report.html"), HtmlPage.of(runs));
  }

  /** A list with one object per run, each on a line; unmeasured values are null. */
  String json() throws IOException {
    StringBuilder list = new StringBuilder("[");
    Regrets regrets = Regrets.of(runs);
    for (RunReport run : runs) {
      RunReport.RunSetup setup = run.setup();
      ObjectNode row = JSON.createObjectNode();
      row.put("trace", setup.trace());
      row.put("engine", setup.engine());
      if (setup.workers().both() == setup.workers().size()) {
        row.put("workers", setup.workers().size());
      } else {
        row.put("workers", setup.workers().toString());
      }
      row.put("elastic", setup.elastic());
      row.put("scale", setup.scale());
      row.put("seed", setup.seed());
      row.put("index", setup.index());
      row.put("guard", setup.guard());
      row.put("options", setup.options());
      row.put("profile", setup.profile());
      row.put("requests", run.requests());
      put(row, "goodput", run.goodput(), 1e4);
      put(row, "regret", regrets.of(run), 1e4);
      put(row, "hit_rate", run.cache().rate(), 1e4);
      put(row, "hit_rate_ceiling", run.cache().ceiling(), 1e4);
      percentiles(row.putObject("ttft_ms"), run.latencies().ttft());
      percentiles(row.putObject("tpot_ms"), run.latencies().tpot());
      put(row.putObject("e2e_ms"), "mean", run.latencies().e2e().mean(), 1e2);
      put(row, "output_tokens_per_s", run.outputTokensPerSecond(), 1e1);
      put(row, "imbalance", run.imbalance(), 1e3);
      ObjectNode engines = row.putObject("engines");
      put(engines, "hours", run.engines().hours(), 1e2);
      engines.put("fewest", run.engines().fewest());
      engines.put("most", run.engines().most());
      engines.put("changes", run.engines().changes());
      engines.put("turns", run.engines().turns());
      ObjectNode costs = row.putObject("cost_estimates");
      put(costs, "found_s", run.estimates().foundSeconds(), 1e1);
      put(costs, "worst_error", run.estimates().worstError(), 1e3);
      put(costs, "level", run.estimates().level(), 1e3);
      row.put("rejected", run.rejected());
      row.put("held", run.holds().held());
      put(row, "longest_hold_ms", run.holds().longestMs(), 1e2);
      put(row, "goodput_of_others", run.holds().goodputOfOthers(), 1e4);
      percentiles(row.putObject("session_ms"), run.latencies().session());
      tenants(row, run.fairness());
      spread(row.putObject("programs"), run.fairness().byProgram());
      list.append(list.length() == 1 ? "\n" : ",\n").append(JSON.writeValueAsString(row));
    }
    return list.append("\n]\n").toString();
  }

  /**
   * A table of the means over the seeds, a line per trace, scale and profile, of as many columns as fit a terminal:
   * those by which profiles are chosen. The report has the others.
   */
  public String table() {
    return ResultTable.brief(runs);
  }

  private static void tenants(ObjectNode row, Fairness fairness) {
    ObjectNode tenants = row.putObject("tenants");
    spread(tenants, fairness.byTenant());
    ObjectNode each = tenants.putObject("each");
    for (GroupGoodput tenant : fairness.tenants()) {
      ObjectNode one = each.putObject(tenant.name());
      one.put("requests", tenant.requests());
      put(one, "goodput", tenant.goodput(), 1e4);
      put(one, "ttft_p90_ms", tenant.ttftP90Ms(), 1e2);
    }
  }

  private static void spread(ObjectNode into, GoodputSpread spread) {
    into.put("count", spread.groups());
    put(into, "jain", spread.jain(), 1e4);
    put(into, "goodput_mean", spread.mean(), 1e4);
    put(into, "goodput_p10", spread.p10(), 1e4);
    put(into, "goodput_worst", spread.worst(), 1e4);
  }

  private static void percentiles(ObjectNode into, Latency latency) {
    put(into, "mean", latency.mean(), 1e2);
    put(into, "p50", latency.p50(), 1e2);
    put(into, "p90", latency.p90(), 1e2);
    put(into, "p99", latency.p99(), 1e2);
  }

  /** Puts a rounded number, or null for NaN and infinity, which JSON does not have. */
  private static void put(ObjectNode into, String field, double value, double precision) {
    if (Double.isFinite(value)) {
      into.put(field, Math.rint(value * precision) / precision);
    } else {
      into.putNull(field);
    }
  }
}
