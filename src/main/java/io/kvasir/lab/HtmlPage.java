package io.kvasir.lab;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The report as one self-contained HTML page: plots as SVG, and tables; light and dark. */
final class HtmlPage {
  private static final String STYLE = "report.css";

  private HtmlPage() {}

  static String of(List<RunReport> runs) throws IOException {
    StringBuilder page = new StringBuilder();
    Regrets regrets = Regrets.of(runs);
    page.append("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        .append("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .append("<title>Kvasir laboratory</title>\n<style>\n")
        .append(style())
        .append("</style>\n</head>\n<body>\n<h1>Kvasir laboratory</h1>\n");
    for (Map.Entry<Experiment, List<Summary>> experiment : experiments(runs).entrySet()) {
      section(experiment.getKey(), experiment.getValue(), regrets, page);
    }
    if (regrets.experiments() > 1) {
      page.append("<section>\n<h2>Regret over all loads</h2>\n");
      table(ResultTable.REGRET_TITLES, ResultTable.regretRows(regrets), page);
      page.append("</section>\n");
    }
    return page.append("</body>\n</html>\n").toString();
  }

  /** The subject of a section: what its runs have in common, which differ in load, profile and seed. */
  private record Experiment(String trace, String engine, Pools workers, String index, String guard, String options) {}

  private static Map<Experiment, List<Summary>> experiments(List<RunReport> runs) {
    Map<Experiment, List<Summary>> experiments = new LinkedHashMap<>();
    for (Summary summary : Summary.of(runs)) {
      RunReport.RunSetup setup = summary.first().setup();
      Experiment experiment =
          new Experiment(
              setup.trace(), setup.engine(), setup.workers(), setup.index(), setup.guard(), setup.options());
      experiments.computeIfAbsent(experiment, _ -> new ArrayList<>()).add(summary);
    }
    return experiments;
  }

  private static void section(Experiment about, List<Summary> summaries, Regrets regrets, StringBuilder page) {
    page.append("<section>\n<h2>").append(Plot.escaped(about.trace)).append("</h2>\n<p class=\"about\">");
    page.append(about.workers).append(" &times; ").append(Plot.escaped(about.engine));
    page.append(", index ").append(Plot.escaped(about.index));
    page.append(", guard ").append(Plot.escaped(about.guard)).append(", ");
    page.append(about.options.isEmpty() ? "" : Plot.escaped(about.options) + ", ");
    page.append("mean of ").append(summaries.getFirst().runs().size()).append(" seed(s)</p>\n");
    page.append("<div class=\"plots\">\n");
    for (Plot plot : plots(summaries)) {
      page.append("<figure>\n").append(plot.svg()).append("</figure>\n");
    }
    page.append("</div>\n");
    for (List<Summary> scale : byScale(summaries)) {
      page.append("<h3>load &times;").append(ResultTable.plain(scale.getFirst().first().setup().scale()))
          .append("</h3>\n<p class=\"about\">").append(scale.getFirst().first().requests())
          .append(" requests, cache ceiling ")
          .append(String.format(Locale.ROOT, "%.1f&thinsp;%%", 100 * scale.getFirst().first().cache().ceiling()))
          .append("</p>\n");
      table(scale, regrets, page);
      List<RunReport> runs = scale.stream().flatMap(summary -> summary.runs().stream()).toList();
      List<List<String>> tenants = ResultTable.tenantRows(runs);
      if (!tenants.isEmpty()) {
        page.append("<h4>by tenant</h4>\n");
        table(ResultTable.TENANT_TITLES, tenants, page);
      }
    }
    page.append("</section>\n");
  }

  /** The plots of a section: lines over the load, or bars by profile where there is one load. */
  static List<Plot> plots(List<Summary> summaries) {
    return List.of(
        Plot.of("Goodput", "share of requests", summaries, RunReport::goodput, Plot.Axis.SHARE),
        Plot.of("TTFT, mean", "ms", summaries, run -> run.latencies().ttft().mean(), Plot.Axis.LOGARITHMIC),
        Plot.of("TTFT, p90", "ms", summaries, run -> run.latencies().ttft().p90(), Plot.Axis.LOGARITHMIC),
        Plot.of("TPOT, p90", "ms", summaries, run -> run.latencies().tpot().p90(), Plot.Axis.LOGARITHMIC));
  }

  private static List<List<Summary>> byScale(List<Summary> summaries) {
    Map<Double, List<Summary>> scales = new LinkedHashMap<>();
    for (Summary summary : summaries) {
      scales.computeIfAbsent(summary.first().setup().scale(), _ -> new ArrayList<>()).add(summary);
    }
    return List.copyOf(scales.values());
  }

  private static void table(List<String> titles, List<List<String>> rows, StringBuilder page) {
    page.append("<div class=\"wide\"><table>\n<tr><th>profile</th>");
    titles.forEach(title -> page.append("<th>").append(Plot.escaped(title)).append("</th>"));
    page.append("</tr>\n");
    for (List<String> row : rows) {
      page.append("<tr><th>").append(Plot.escaped(row.getFirst())).append("</th>");
      row.stream().skip(1).forEach(cell -> page.append("<td>").append(Plot.escaped(cell)).append("</td>"));
      page.append("</tr>\n");
    }
    page.append("</table></div>\n");
  }

  private static void table(List<Summary> summaries, Regrets regrets, StringBuilder page) {
    page.append("<div class=\"wide\"><table>\n<tr><th>profile</th>");
    ResultTable.titles().forEach(title -> page.append("<th>").append(Plot.escaped(title)).append("</th>"));
    page.append("</tr>\n");
    double best = summaries.stream().mapToDouble(summary -> summary.mean(RunReport::goodput)).max().orElse(0);
    for (Summary summary : summaries) {
      boolean first = summary.mean(RunReport::goodput) == best;
      page.append(first ? "<tr class=\"best\">" : "<tr>");
      page.append("<th>").append(Plot.escaped(summary.first().setup().profile())).append("</th>");
      for (String cell : ResultTable.cells(summary, regrets)) {
        page.append("<td>").append(Plot.escaped(cell)).append("</td>");
      }
      page.append("</tr>\n");
    }
    page.append("</table></div>\n");
  }

  private static String style() throws IOException {
    try (InputStream in = HtmlPage.class.getResourceAsStream(STYLE)) {
      if (in == null) {
        throw new IllegalStateException("the resource " + STYLE + " is missing from the jar");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
