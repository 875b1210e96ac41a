package io.kvasir.app;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/** {@code /admin/cluster} as tables for people: nodes, cells, workers. */
final class ClusterTables {
  private final StringBuilder text = new StringBuilder();

  private ClusterTables() {}

  static String of(JsonNode status) {
    ClusterTables tables = new ClusterTables();
    tables.table(List.of("NODE", "STATE", "VERSION"), nodes(status.path("nodes")));
    tables.table(List.of("CELL", "HOME", "WORKERS", "PRESSURE"), cells(status.path("cells")));
    tables.table(
        List.of("WORKER", "CELL", "ROLE", "HEALTH", "IN FLIGHT", "PENDING TOKENS", "BLOCKS"),
        workers(status.path("workers")));
    return tables.text.toString();
  }

  private static List<List<String>> nodes(JsonNode nodes) {
    List<List<String>> rows = new ArrayList<>();
    for (JsonNode node : nodes) {
      rows.add(
          List.of(
              node.path("address").asText() + (node.path("self").asBoolean() ? " (answers)" : ""),
              node.path("state").asText() + (node.path("reachable").asBoolean(true) ? "" : ", unreachable"),
              node.path("version").asText()));
    }
    return rows;
  }

  private static List<List<String>> cells(JsonNode cells) {
    List<List<String>> rows = new ArrayList<>();
    for (JsonNode cell : cells) {
      String home = cell.path("home").asText("");
      rows.add(
          List.of(
              cell.path("name").asText(),
              home.isEmpty() || home.equals("null") ? "between homes" : home,
              cell.path("workers").asText(),
              share(cell.path("pressure"))));
    }
    return rows;
  }

  private static String share(JsonNode share) {
    return share.isNumber() ? Math.round(100 * share.asDouble()) + " %" : "unknown";
  }

  private static List<List<String>> workers(JsonNode workers) {
    List<List<String>> rows = new ArrayList<>();
    for (JsonNode worker : workers) {
      String why = worker.path("why").asText("");
      rows.add(
          List.of(
              worker.path("id").asText(),
              worker.path("cell").asText(),
              worker.path("role").asText(),
              worker.path("health").asText()
                  + (worker.path("draining").asBoolean() ? ", draining" : "")
                  + (worker.path("suspect").asBoolean() ? ", suspect" : "")
                  + (why.isEmpty() ? "" : " (" + why + ")"),
              worker.path("in_flight").asText() + "/" + worker.path("max_in_flight").asText(),
              worker.path("pending_tokens").asText(),
              worker.path("blocks").asText()));
    }
    return rows;
  }

  private void table(List<String> head, List<List<String>> rows) {
    if (!text.isEmpty()) {
      text.append('\n');
    }
    int[] widths = new int[head.size()];
    List<List<String>> lines = new ArrayList<>();
    lines.add(head);
    lines.addAll(rows);
    for (List<String> line : lines) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    for (List<String> line : lines) {
      StringBuilder row = new StringBuilder();
      for (int i = 0; i < widths.length; i++) {
        row.append(line.get(i)).repeat(" ", widths[i] - line.get(i).length() + 2);
      }
      text.append(row.toString().stripTrailing()).append('\n');
    }
    if (rows.isEmpty()) {
      text.append("none\n");
    }
  }
}
