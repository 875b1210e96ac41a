package io.kvasir.app.monitoring;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** How panels look, by their type: {@code timeseries}, {@code stat}, or {@code rows}, a heat map of series. */
final class PanelStyle {
  private PanelStyle() {}

  /** Units, bounds, colours. */
  static ObjectNode fields(String type, JsonNode described) {
    ObjectNode style = object();
    ObjectNode fields = style.putObject("defaults");
    fields.put("unit", described.path("unit").asText("none")).put("min", 0);
    if (described.has("max")) {
      fields.put("max", described.path("max").asDouble());
    }
    fields.putArray("mappings");
    if (described.path("unit").asText().startsWith("percent")) {
      fields.put("decimals", 1);
    }
    ObjectNode thresholds = fields.putObject("thresholds").put("mode", "absolute");
    ArrayNode steps = thresholds.putArray("steps");
    if (described.has("thresholds")) {
      described.path("thresholds").properties().forEach(step -> {
        ObjectNode each = steps.addObject().put("color", step.getValue().asText());
        // The first step is for all values below the second.
        if (steps.size() == 1) {
          each.putNull("value");
        } else {
          each.put("value", Double.parseDouble(step.getKey()));
        }
      });
    } else {
      steps.addObject().put("color", "blue").putNull("value");
    }
    switch (type) {
      case "stat" -> fields.putObject("color").put("mode", "thresholds");
      case "rows" -> {
        fields.putObject("custom").putObject("hideFrom").put("legend", false).put("tooltip", false).put("viz", false);
      }
      default -> {
        fields.putObject("color").put("mode", "palette-classic");
        fields.set("custom", lines(described));
      }
    }
    style.putArray("overrides");
    return style;
  }

  private static ObjectNode lines(JsonNode described) {
    boolean stacked = described.path("stack").asBoolean();
    ObjectNode lines = object();
    lines.put("drawStyle", "line").put("lineInterpolation", "linear").put("lineWidth", 1)
        .put("fillOpacity", stacked ? 40 : 8).put("gradientMode", "none").put("showPoints", "never")
        .put("spanNulls", false).put("axisPlacement", "auto").put("axisLabel", "");
    lines.putObject("stacking").put("mode", stacked ? "normal" : "none").put("group", "A");
    if (described.path("log").asBoolean()) {
      lines.putObject("scaleDistribution").put("type", "log").put("log", 10);
    } else {
      lines.putObject("scaleDistribution").put("type", "linear");
    }
    lines.putObject("thresholdsStyle").put("mode", "off");
    lines.putObject("hideFrom").put("legend", false).put("tooltip", false).put("viz", false);
    return lines;
  }

  /** What each type of panel lets one choose. */
  static ObjectNode options(String type, JsonNode described) {
    return switch (type) {
      case "stat" -> stat();
      case "rows" -> rows(described);
      case "timeseries" -> timeSeries();
      default -> throw new IllegalArgumentException("no panel of type " + type);
    };
  }

  private static ObjectNode stat() {
    ObjectNode options = object();
    options.put("colorMode", "value").put("graphMode", "area").put("justifyMode", "auto").put("orientation", "auto")
        .put("textMode", "value").put("wideLayout", true).put("showPercentChange", false)
        .put("percentChangeColorMode", "standard");
    ObjectNode reduce = options.putObject("reduceOptions").put("fields", "").put("values", false);
    reduce.putArray("calcs").add("lastNotNull");
    return options;
  }

  private static ObjectNode timeSeries() {
    ObjectNode options = object();
    options.putObject("legend").put("displayMode", "list").put("placement", "bottom").put("showLegend", true)
        .putArray("calcs");
    options.putObject("tooltip").put("mode", "multi").put("sort", "desc");
    return options;
  }

  private static ObjectNode rows(JsonNode described) {
    ObjectNode options = object();
    options.put("calculate", false).put("cellGap", 1).put("showValue", "never");
    options.putObject("color").put("mode", "scheme").put("scheme", "YlOrRd").put("fill", "dark-orange")
        .put("scale", "exponential").put("exponent", 0.5).put("steps", 64).put("reverse", false);
    options.putObject("cellValues").put("unit", described.path("unit").asText("none"));
    options.putObject("yAxis").put("axisPlacement", "left").put("reverse", false);
    options.putObject("rowsFrame").put("layout", "auto");
    options.putObject("filterValues").put("le", -1);
    options.putObject("exemplars").put("color", "rgba(255,0,255,0.7)");
    options.putObject("legend").put("show", true);
    options.putObject("tooltip").put("mode", "single").put("showColorScale", true).put("yHistogram", false);
    return options;
  }

  private static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }
}
