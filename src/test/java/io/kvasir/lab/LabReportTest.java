package io.kvasir.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.xml.sax.InputSource;

final class LabReportTest {
  private static final Latency SOME = new Latency(10.123, 9, 20, 30);

  @Test
  void json_hasTheAgreedFieldsAndNothingElse() throws IOException {
    JsonNode row = new ObjectMapper().readTree(new LabReport(List.of(run(1, 0.5))).json()).get(0);

    assertThat(row.fieldNames())
        .toIterable()
        .containsExactly(
            "trace", "engine", "workers", "elastic", "scale", "seed", "index", "guard", "options",
            "profile", "requests", "goodput", "regret", "hit_rate", "hit_rate_ceiling",
            "ttft_ms", "tpot_ms", "e2e_ms", "output_tokens_per_s", "imbalance", "engines",
            "cost_estimates", "rejected", "held",
            "longest_hold_ms", "goodput_of_others", "session_ms", "tenants", "programs");
    assertThat(row.get("ttft_ms").fieldNames()).toIterable().containsExactly("mean", "p50", "p90", "p99");
    assertThat(row.get("tpot_ms").get("mean").isNull()).as("nothing measured").isTrue();
    assertThat(row.get("ttft_ms").get("mean").asDouble()).isEqualTo(10.12);
    assertThat(row.get("requests").asInt()).isEqualTo(9);
    assertThat(row.get("hit_rate_ceiling").asDouble()).isEqualTo(0.5);
    assertThat(row.get("output_tokens_per_s").asDouble()).isEqualTo(100);
  }

  @Test
  void table_takesTheMeanOverSeeds() {
    String table = ResultTable.of(List.of(run(1, 0.5), run(2, 0.6)));

    assertThat(table).contains("mean of 2 seeds").contains("0.550").contains("40%");
    assertThat(table.lines()).hasSize(3);
  }

  @Test
  void table_forATerminal_fitsIt_andTheWrittenOneHasTheRest(@TempDir Path directory) throws IOException {
    LabReport report = new LabReport(List.of(run(1, 0.5), run(1, 0.4, 2.5)));

    report.write(directory);

    assertThat(report.table()).contains("0.400", "t at x2.5: 9 requests, ceiling 0.500");
    assertThat(report.table().lines()).allMatch(line -> line.length() <= 80);
    assertThat(Files.readString(directory.resolve("report.txt"))).contains("jain of tenants", "x e, elastic off");
  }

  /** Generators make another trace at another load. */
  @Test
  void page_hasTheRequestsOfEachLoad() throws IOException {
    String page = HtmlPage.of(List.of(run(1, 0.5, 1, 80), run(1, 0.5, 2, 160)));

    assertThat(page).containsSubsequence("load &times;1<", "80 requests", "load &times;2<", "160 requests");
  }

  @Test
  void requireWritable_ofAFile_fails_andADirectoryStaysEmpty(@TempDir Path directory) throws IOException {
    Path fresh = directory.resolve("some/lab");
    LabReport.requireWritable(fresh);

    assertThat(fresh).isEmptyDirectory();
    Path file = Files.createFile(directory.resolve("file"));
    assertThatThrownBy(() -> LabReport.requireWritable(file)).isInstanceOf(IOException.class);
  }

  @Test
  void page_needsNothingElse_andItsPlotsAreWellFormed() throws Exception {
    for (List<RunReport> runs : List.of(List.of(run(1, 0.5)), List.of(run(1, 0.5), run(1, 0.4, 2.5)))) {
      String page = HtmlPage.of(runs);

      assertThat(page).doesNotContain("src=").doesNotContain("href=").contains("prefers-color-scheme: dark");
      Matcher svgs = Pattern.compile("<svg.*?</svg>", Pattern.DOTALL).matcher(page);
      int plots = 0;
      for (; svgs.find(); plots++) {
        InputSource svg = new InputSource(new StringReader(svgs.group()));
        DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(svg);
        assertThat(svgs.group()).contains(">random<").doesNotContain("NaN");
      }
      assertThat(plots).isEqualTo(4);
    }
  }

  private static RunReport run(long seed, double goodput) {
    return run(seed, goodput, 1.8);
  }

  private static RunReport run(long seed, double goodput, double scale) {
    return run(seed, goodput, scale, 9);
  }

  private static RunReport run(long seed, double goodput, double scale, int requests) {
    Latency none = Latency.of(new double[0], 0);
    return new RunReport(
        new RunReport.RunSetup("t", "e", new Pools(8, 0, 0), "off", scale, seed, "exact", "off", "", "random"),
        requests, 3, goodput, new Fairness.Collector().fairness(),
        new RunReport.Holds(0, 0, goodput),
        new RunReport.CacheHits(0.2, 0.5), new RunReport.Latencies(SOME, none, SOME, none), 1.5,
        new RunReport.Engines(2, 8, 8, 0, 0), new RunReport.CostEstimates(0, 0, 1), 100);
  }
}
