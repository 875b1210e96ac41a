package io.kvasir.app.monitoring;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * A Grafana dashboard of its short description in {@code cluster-configs/grafana/source}: a list of rows and panels,
 * which flow from left to right. Each query gets matchers for the variables that stand at the dashboard's top.
 */
final class Dashboard {
  private static final ObjectMapper JSON = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
  private static final int WIDTH = 24;
  private static final int SCHEMA = 39;

  private final String name;
  private final JsonNode source;
  private final Function<String, String> matchers;
  private final ArrayNode panels = JSON.createArrayNode();
  private int x;
  private int y;
  private int rowHeight;

  /**
   * Of a description.
   *
   * @param name of its file, and of its address in Grafana
   * @param matchers for each metric those of the variables that fit it
   */
  Dashboard(String name, JsonNode source, Function<String, String> matchers) {
    this.name = name;
    this.source = source;
    this.matchers = matchers;
  }

  /** The queries of panels, by the texts of their legends. */
  static List<Map.Entry<String, PromQl>> queries(JsonNode source) {
    List<Map.Entry<String, PromQl>> queries = new ArrayList<>();
    for (JsonNode panel : source.path("panels")) {
      panel.path("queries").properties()
          .forEach(query -> queries.add(Map.entry(query.getKey(), new PromQl(query.getValue().asText()))));
    }
    return queries;
  }

  String json() throws IOException {
    ObjectNode board = JSON.createObjectNode();
    board.put("uid", uid(name)).put("title", text(source, "title")).put("description", text(source, "description"));
    board.putArray("tags").add("kvasir");
    board.put("schemaVersion", SCHEMA).put("version", 1).put("editable", true).put("graphTooltip", 1)
        .put("refresh", "10s").put("timezone", "browser").put("fiscalYearStartMonth", 0).put("liveNow", false);
    board.putObject("time").put("from", "now-1h").put("to", "now");
    board.putObject("timepicker");
    board.putObject("annotations").putArray("list");
    link(board, "dashboards", "Kvasir", "").withArray("tags").add("kvasir");
    board.putObject("templating").set("list", DashboardVariables.all());
    for (JsonNode panel : source.path("panels")) {
      if (panel.has("row")) {
        row(text(panel, "row"));
      } else {
        panel(panel);
      }
    }
    board.set("panels", panels);
    return JSON.writeValueAsString(board) + "\n";
  }

  private static String uid(String name) {
    return "kvasir-" + name;
  }

  private static ObjectNode link(ObjectNode from, String type, String title, String url) {
    ObjectNode link = from.putArray("links").addObject();
    link.put("type", type).put("title", title).put("url", url).put("asDropdown", false).put("includeVars", true)
        .put("keepTime", true).put("targetBlank", false).put("icon", "external link").put("tooltip", "")
        .putArray("tags");
    return link;
  }

  private void row(String title) {
    newLine();
    ObjectNode row = panels.addObject();
    row.put("id", panels.size()).put("type", "row").put("title", title).put("collapsed", false).putArray("panels");
    place(row, WIDTH, 1);
  }

  private void panel(JsonNode described) {
    String type = described.path("type").asText("timeseries");
    ObjectNode panel = panels.addObject();
    panel.put("id", panels.size()).put("type", type.equals("rows") ? "heatmap" : type)
        .put("title", text(described, "title")).put("description", text(described, "help"));
    place(panel, described.path("width").asInt(8), described.path("height").asInt(8));
    panel.set("datasource", dataSource());
    if (described.has("link")) {
      String board = text(described, "link");
      link(panel, "link", "Kvasir / " + board, "/d/" + uid(board) + "?${__url_time_range}&${__all_variables}");
    }
    panel.set("fieldConfig", PanelStyle.fields(type, described));
    panel.set("options", PanelStyle.options(type, described));
    ArrayNode targets = panel.putArray("targets");
    described.path("queries").properties().forEach(query -> {
      ObjectNode target = targets.addObject();
      target.put("refId", String.valueOf((char) ('A' + targets.size() - 1)));
      target.set("datasource", dataSource());
      target.put("editorMode", "code").put("expr", new PromQl(query.getValue().asText()).restricted(matchers))
          .put("legendFormat", query.getKey().isEmpty() ? "__auto" : query.getKey())
          .put("range", true).put("exemplar", described.path("exemplars").asBoolean());
    });
  }

  private void place(ObjectNode panel, int width, int height) {
    if (x + width > WIDTH) {
      newLine();
    }
    panel.putObject("gridPos").put("h", height).put("w", width).put("x", x).put("y", y);
    x += width;
    rowHeight = Math.max(rowHeight, height);
  }

  private void newLine() {
    y += rowHeight;
    x = 0;
    rowHeight = 0;
  }

  static ObjectNode dataSource() {
    return JSON.createObjectNode().put("type", "prometheus").put("uid", "${datasource}");
  }

  private static String text(JsonNode from, String member) {
    String text = from.path(member).asText();
    if (text.isBlank()) {
      throw new IllegalArgumentException("no " + member + " in " + from);
    }
    return text;
  }
}
