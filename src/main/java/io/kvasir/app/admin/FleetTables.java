package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.app.terminal.Table;
import java.util.ArrayList;
import java.util.List;

/** Nodes, cells and workers as tables for people. */
final class FleetTables {
  private FleetTables() {}

  static Table nodes(JsonNode nodes) {
    Table table = new Table("NODE", "STATE", "VERSION");
    for (JsonNode node : nodes) {
      table.row(
          node.path("address").asText() + (node.path("self").asBoolean() ? " (answers)" : ""),
          node.path("state").asText() + (node.path("reachable").asBoolean(true) ? "" : ", unreachable"),
          node.path("version").asText());
    }
    return table;
  }

  /** A table of cells with their home nodes and the nodes of their replicas. */
  static Table homes(JsonNode cells) {
    Table table = new Table("CELL", "HOME", "WORKERS", "PRESSURE", "STANDBYS");
    for (JsonNode cell : cells) {
      table.row(
          cell.path("name").asText(),
          home(cell),
          cell.path("workers").asText(),
          share(cell.path("pressure")),
          standbys(cell.path("standbys")));
    }
    return table;
  }

  /** Cells with their load. */
  static Table cells(JsonNode cells) {
    Table table =
        new Table(
            "CELL", "HOME", "PRESSURE", "MODELS", "WORKERS", "HEALTHY", "DRAINING", "IN FLIGHT", "PENDING TOKENS",
            "BLOCKS");
    for (JsonNode cell : cells) {
      table.row(
          cell.path("name").asText(),
          home(cell),
          share(cell.path("pressure")),
          texts(cell.path("models")),
          cell.path("workers").asText(),
          cell.path("healthy").asText(),
          cell.path("draining").asText(),
          cell.path("in_flight").asText(),
          cell.path("pending_tokens").asText(),
          cell.path("blocks").asText());
    }
    return table;
  }

  static Table workers(JsonNode workers) {
    Table table = new Table("WORKER", "CELL", "ROLE", "HEALTH", "IN FLIGHT", "PENDING TOKENS", "BLOCKS");
    for (JsonNode worker : workers) {
      String why = worker.path("why").asText("");
      table.row(
          worker.path("id").asText(),
          worker.path("cell").asText(),
          worker.path("role").asText(),
          worker.path("health").asText()
              + (worker.path("drained").asBoolean() ? ", drained"
                  : worker.path("draining").asBoolean() ? ", draining"
                  : "")
              + (worker.path("suspect").asBoolean() ? ", suspect" : "")
              + (why.isEmpty() ? "" : " (" + why + ")"),
          worker.path("in_flight").asText() + "/" + worker.path("max_in_flight").asText(),
          worker.path("pending_tokens").asText(),
          worker.path("blocks").asText());
    }
    return table;
  }

  /** A list's texts with commas between. */
  static String texts(JsonNode list) {
    List<String> texts = new ArrayList<>();
    list.forEach(text -> texts.add(text.asText()));
    return String.join(", ", texts);
  }

  private static String standbys(JsonNode standbys) {
    List<String> copies = new ArrayList<>();
    for (JsonNode standby : standbys) {
      String state =
          !standby.path("warm").asBoolean() ? "is being copied"
              : standby.path("behind").asLong() == 0 ? "up to date"
              : standby.path("behind").asText() + " events, " + standby.path("lag_ms").asText() + " ms behind";
      copies.add(standby.path("node").asText() + " (" + state + ")");
    }
    return copies.isEmpty() ? "none" : String.join(", ", copies);
  }

  private static String share(JsonNode share) {
    return share.isNumber() ? Math.round(100 * share.asDouble()) + " %" : "unknown";
  }

  private static String home(JsonNode cell) {
    return cell.path("home").isTextual() ? cell.path("home").asText() : "between homes";
  }
}
