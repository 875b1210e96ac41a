package io.kvasir.lab;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The results of a replay: how profiles would have decided recorded decisions.
 *
 * @param lines lines that were read
 * @param skipped decisions of several passes, as of prefill and decode apart, which a profile alone does not make, and
 *     of none, where nobody was there to choose from
 * @param incomplete replayed decisions of an earlier version, which recorded neither what workers lose by eviction nor
 *     what their engines report: replayed as if they lost nothing and reported nothing
 * @param pulled replayed decisions by which a worker took blocks from another one's memory: replayed as if it computed
 *     them
 * @param faulty lines that could not be read, and ends of files that were cut
 * @param faults the first of those, each with file, line and problem
 * @param rows one row per profile
 */
public record ReplayReport(
    long lines, long skipped, long incomplete, long pulled, long faulty, List<String> faults, List<Row> rows) {

  /**
   * The results of one profile.
   *
   * @param profile its name
   * @param decisions how many were replayed
   * @param changed how many would have chosen another worker, ties left out
   * @param why reasons of the changes, and how often each occurred
   * @param promptTokens tokens of all prompts
   * @param cachedBefore how many of them the chosen workers held
   * @param cachedNow how many the workers chosen in the replay held
   * @param changes the first changes
   */
  public record Row(
      String profile,
      int decisions,
      int changed,
      Map<String, Integer> why,
      long promptTokens,
      long cachedBefore,
      long cachedNow,
      List<ChangedDecision> changes) {}

  /**
   * A decision with another result in the replay.
   *
   * @param requestId the request
   * @param recorded the worker chosen then, null for none
   * @param replayed the worker chosen in the replay, null for none
   * @param why the reason
   */
  public record ChangedDecision(String requestId, @Nullable String recorded, @Nullable String replayed, String why) {}

  /** Whether no decision of the logs could be replayed. */
  public boolean isEmpty() {
    return rows.stream().allMatch(row -> row.decisions() == 0);
  }

  /** The report as a text table, a line per profile. */
  public String table() {
    int width = Math.max(7, rows.stream().mapToInt(row -> row.profile().length()).max().orElse(0));
    StringBuilder table = new StringBuilder();
    table.append(
        ("%-" + width + "s  decisions  changed  share  hit rate before  now    why%n").formatted("profile"));
    for (Row row : rows) {
      String why =
          row.why().entrySet().stream()
              .sorted(Map.Entry.<String, Integer>comparingByValue().reversed())
              .map(entry -> entry.getKey() + " " + entry.getValue())
              .collect(Collectors.joining(", "));
      table.append(
          ("%-" + width + "s  %9d  %7d  %4.1f%%  %15.3f  %.3f  %s%n")
              .formatted(
                  row.profile(), row.decisions(), row.changed(), 100 * share(row.changed(), row.decisions()),
                  share(row.cachedBefore(), row.promptTokens()), share(row.cachedNow(), row.promptTokens()), why));
    }
    return table.toString();
  }

  /** Writes the report as JSON. */
  public void write(Path file) throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    ObjectNode report =
        mapper.createObjectNode()
            .put("lines", lines)
            .put("skipped", skipped)
            .put("incomplete", incomplete)
            .put("pulled", pulled)
            .put("faulty", faulty);
    ArrayNode faultTexts = report.putArray("faults");
    faults.forEach(faultTexts::add);
    ArrayNode profiles = report.putArray("profiles");
    for (Row row : rows) {
      ObjectNode profile =
          profiles.addObject()
              .put("profile", row.profile())
              .put("decisions", row.decisions())
              .put("changed", row.changed())
              .put("hit_rate_before", share(row.cachedBefore(), row.promptTokens()))
              .put("hit_rate_now", share(row.cachedNow(), row.promptTokens()));
      ObjectNode why = profile.putObject("why");
      row.why().forEach(why::put);
      ArrayNode changes = profile.putArray("changes");
      for (ChangedDecision change : row.changes()) {
        changes.addObject()
            .put("request_id", change.requestId())
            .put("recorded", change.recorded())
            .put("replayed", change.replayed())
            .put("why", change.why());
      }
    }
    Path directory = file.toAbsolutePath().getParent();
    if (directory != null) {
      Files.createDirectories(directory);
    }
    Files.write(file, mapper.writerWithDefaultPrettyPrinter().writeValueAsBytes(report));
  }

  private static double share(long part, long whole) {
    return whole == 0 ? 0 : (double) part / whole;
  }
}
