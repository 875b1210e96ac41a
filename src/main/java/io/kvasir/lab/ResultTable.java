package io.kvasir.lab;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;

/** The results as a plain-text table, for a terminal or a Markdown code block. */
final class ResultTable {
  private static final List<Column> COLUMNS =
      List.of(
          new Column("goodput", "%.3f", RunReport::goodput),
          new Column("hit rate", "%.3f", run -> run.cache().rate()),
          new Column("of ceiling", "%.0f%%", run -> ofCeiling(run.cache())),
          new Column("ttft mean", "%.0f", run -> run.latencies().ttft().mean()),
          new Column("p50", "%.0f", run -> run.latencies().ttft().p50()),
          new Column("p90", "%.0f", run -> run.latencies().ttft().p90()),
          new Column("p99", "%.0f", run -> run.latencies().ttft().p99()),
          new Column("tpot mean", "%.1f", run -> run.latencies().tpot().mean()),
          new Column("p90", "%.1f", run -> run.latencies().tpot().p90()),
          new Column("p99", "%.1f", run -> run.latencies().tpot().p99()),
          new Column("e2e mean", "%.0f", run -> run.latencies().e2e().mean()),
          new Column("p90", "%.0f", run -> run.latencies().e2e().p90()),
          new Column("p99", "%.0f", run -> run.latencies().e2e().p99()),
          new Column("jain of tenants", "%.3f", run -> run.fairness().byTenant().jain()),
          new Column("worst", "%.3f", run -> run.fairness().byTenant().worst()),
          new Column("jain of programs", "%.3f", run -> run.fairness().byProgram().jain()),
          new Column("p10", "%.3f", run -> run.fairness().byProgram().p10()),
          new Column("imbalance", "%.2f", RunReport::imbalance),
          new Column("engine hours", "%.1f", run -> run.engines().hours()),
          new Column("changes", "%.0f", run -> run.engines().changes()),
          new Column("turns", "%.0f", run -> run.engines().turns()),
          new Column("cost error", "%.2f", run -> run.estimates().worstError()),
          new Column("found s", "%.0f", run -> run.estimates().foundSeconds()),
          new Column("rejected", "%.0f", RunReport::rejected),
          new Column("held", "%.0f", run -> run.holds().held()),
          new Column("longest", "%.0f", run -> run.holds().longestMs()),
          new Column("goodput of others", "%.3f", run -> run.holds().goodputOfOthers()),
          new Column("session mean", "%.0f", run -> run.latencies().session().mean()),
          new Column("p99", "%.0f", run -> run.latencies().session().p99()),
          new Column("out tok/s", "%.0f", RunReport::outputTokensPerSecond));

  /** What profiles are chosen by, in the width of a terminal. */
  private static final List<Column> BRIEF =
      List.of(
          new Column("goodput", "%.3f", RunReport::goodput),
          new Column("hit rate", "%.3f", run -> run.cache().rate()),
          new Column("ttft mean", "%.0f", run -> run.latencies().ttft().mean()),
          new Column("ttft p90", "%.0f", run -> run.latencies().ttft().p90()),
          new Column("tpot p90", "%.1f", run -> run.latencies().tpot().p90()),
          new Column("rejected", "%.0f", RunReport::rejected));

  /** The titles of the table of regrets, without the profile's. */
  static final List<String> REGRET_TITLES = List.of("mean regret", "worst regret");

  /** The titles of the table of tenants, without the profile's. */
  static final List<String> TENANT_TITLES = List.of("load", "tenant", "requests", "goodput", "ttft p90");

  private record Column(String title, String format, ToDoubleFunction<RunReport> of) {}

  private ResultTable() {}

  /** The table of all runs, means over their seeds. */
  static String of(List<RunReport> runs) {
    return of(runs, COLUMNS, ResultTable::heading);
  }

  /** The same with few columns. */
  static String brief(List<RunReport> runs) {
    return of(runs, BRIEF, ResultTable::briefHeading);
  }

  private static String of(List<RunReport> runs, List<Column> columns, Function<Summary, String> headings) {
    StringBuilder text = new StringBuilder();
    Regrets regrets = Regrets.of(runs);
    RunReport.@Nullable RunSetup about = null;
    String heading = "";
    List<List<String>> rows = new ArrayList<>();
    for (Summary summary : Summary.of(runs)) {
      RunReport.RunSetup setup = summary.first().setup();
      if (!setup.under("").equals(about)) {
        write(rows, heading, titles(columns), text);
        rows.clear();
        about = setup.under("");
        heading = headings.apply(summary);
      }
      List<String> row = new ArrayList<>(List.of(setup.profile()));
      row.addAll(cells(summary, regrets, columns));
      rows.add(row);
    }
    write(rows, heading, titles(columns), text);
    write(tenantRows(runs), "goodput by tenant, mean over the seeds", TENANT_TITLES, text);
    if (regrets.experiments() > 1) {
      write(regretRows(regrets), "regret over " + regrets.experiments() + " loads of traces", REGRET_TITLES, text);
    }
    return text.toString();
  }

  /** The titles of the columns, without the profile's. */
  static List<String> titles() {
    return titles(COLUMNS);
  }

  private static List<String> titles(List<Column> columns) {
    List<String> titles = new ArrayList<>(columns.stream().map(Column::title).toList());
    titles.add(1, "regret");
    return titles;
  }

  /** A line's cells, without the profile's. */
  static List<String> cells(Summary summary, Regrets regrets) {
    return cells(summary, regrets, COLUMNS);
  }

  private static List<String> cells(Summary summary, Regrets regrets, List<Column> columns) {
    List<String> cells = new ArrayList<>();
    for (Column column : columns) {
      cells.add(cell(column.format, summary.mean(column.of)));
    }
    cells.add(1, cell("%.3f", regrets.of(summary)));
    return cells;
  }

  /** The regret of each profile over all experiments. */
  static List<List<String>> regretRows(Regrets regrets) {
    List<List<String>> rows = new ArrayList<>();
    regrets.byProfile().forEach((profile, regret) ->
        rows.add(List.of(profile, cell("%.3f", regret.mean()), cell("%.3f", regret.worst()))));
    return rows;
  }

  /** A row for each tenant of each experiment: means over the seeds. */
  static List<List<String>> tenantRows(List<RunReport> runs) {
    List<List<String>> rows = new ArrayList<>();
    for (Summary summary : Summary.of(runs)) {
      Set<String> names = new LinkedHashSet<>();
      summary.runs().forEach(run -> run.fairness().tenants().forEach(tenant -> names.add(tenant.name())));
      RunReport.RunSetup setup = summary.first().setup();
      for (String name : names.stream().sorted().toList()) {
        rows.add(
            List.of(
                setup.profile(), setup.trace() + " x" + plain(setup.scale()), name,
                mean(summary, name, "%.0f", GroupGoodput::requests),
                mean(summary, name, "%.3f", GroupGoodput::goodput),
                mean(summary, name, "%.0f", GroupGoodput::ttftP90Ms)));
      }
    }
    return rows;
  }

  private static String mean(Summary summary, String name, String format, ToDoubleFunction<GroupGoodput> value) {
    double mean =
        summary.runs().stream()
            .flatMap(run -> run.fairness().tenants().stream())
            .filter(tenant -> tenant.name().equals(name))
            .mapToDouble(value)
            .average()
            .orElse(Double.NaN);
    return cell(format, mean);
  }

  /** A number as a table shows it; a dash where nothing was measured. */
  static String cell(String format, double value) {
    return Double.isNaN(value) ? "-" : String.format(Locale.ROOT, format, value);
  }

  /** The share of the ceiling that was reached, in percent. */
  private static double ofCeiling(RunReport.CacheHits cache) {
    return cache.ceiling() > 0 ? 100 * cache.rate() / cache.ceiling() : 100;
  }

  private static String heading(Summary summary) {
    RunReport run = summary.first();
    RunReport.RunSetup setup = run.setup();
    return String.format(
        Locale.ROOT,
        "%s at x%s: %d requests, %s x %s, elastic %s, index %s, guard %s%s, ceiling %.3f, mean of %d %s; milliseconds",
        setup.trace(),
        plain(setup.scale()),
        run.requests(),
        setup.workers(),
        setup.engine(),
        setup.elastic(),
        setup.index(),
        setup.guard(),
        setup.options().isEmpty() ? "" : ", " + setup.options(),
        run.cache().ceiling(),
        summary.runs().size(),
        summary.runs().size() == 1 ? "seed" : "seeds");
  }

  private static String briefHeading(Summary summary) {
    RunReport run = summary.first();
    return String.format(
        Locale.ROOT, "%s at x%s: %d requests, ceiling %.3f, mean of %d %s; milliseconds", run.setup().trace(),
        plain(run.setup().scale()), run.requests(), run.cache().ceiling(), summary.runs().size(),
        summary.runs().size() == 1 ? "seed" : "seeds");
  }

  /** A number without a needless fraction. */
  static String plain(double number) {
    return number == Math.rint(number) ? String.format(Locale.ROOT, "%.0f", number) : Double.toString(number);
  }

  private static void write(List<List<String>> rows, String heading, List<String> columns, StringBuilder text) {
    if (rows.isEmpty()) {
      return;
    }
    List<String> titles = new ArrayList<>(List.of("profile"));
    titles.addAll(columns);
    int[] widths = new int[titles.size()];
    for (int i = 0; i < widths.length; i++) {
      widths[i] = titles.get(i).length();
      for (List<String> row : rows) {
        widths[i] = Math.max(widths[i], row.get(i).length());
      }
    }
    text.append(text.isEmpty() ? "" : "\n").append(heading).append('\n');
    line(titles, widths, text);
    rows.forEach(row -> line(row, widths, text));
  }

  private static void line(List<String> cells, int[] widths, StringBuilder text) {
    for (int i = 0; i < widths.length; i++) {
      String padding = " ".repeat(widths[i] - cells.get(i).length());
      text.append(i == 0 ? cells.get(i) + padding : "  " + padding + cells.get(i));
    }
    text.append('\n');
  }
}
