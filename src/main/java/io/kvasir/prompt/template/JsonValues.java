package io.kvasir.prompt.template;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.time.NanoClock;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Jackson's tree as the plain values that templates read. Texts are shared, not copied. */
public final class JsonValues {
  private JsonValues() {}

  /**
   * A tree as the text that Python's {@code json.dumps} makes of it: in ASCII, with spaces behind commas and colons.
   *
   * @throws TemplateException.Limit when that is longer than a template may make a text
   */
  public static String text(JsonNode value) {
    RenderBudget budget = new RenderBudget(RenderLimits.MODEL, NanoClock.SYSTEM);
    RenderContext render = new RenderContext(Map.of(), () -> LocalDateTime.MIN, budget, new RenderedText());
    return Json.dumps(render, of(value), true, null, null, false);
  }

  /** Jackson's value as a template has it, null for null and for a node that is missing. */
  public static @Nullable Object of(@Nullable JsonNode node) {
    if (node == null) {
      return null;
    }
    return switch (node.getNodeType()) {
      case OBJECT -> map(node);
      case ARRAY -> {
        List<@Nullable Object> list = new ArrayList<>(node.size());
        for (JsonNode element : node) {
          list.add(of(element));
        }
        yield list;
      }
      case STRING -> node.textValue();
      case BOOLEAN -> node.booleanValue();
      case NUMBER -> !node.isIntegralNumber() ? (Object) node.doubleValue()
          : node.canConvertToLong() ? (Object) node.longValue() : node.bigIntegerValue();
      default -> null;
    };
  }

  /** An object's fields in order; empty for anything else. */
  public static Map<String, @Nullable Object> map(@Nullable JsonNode object) {
    Map<String, @Nullable Object> map = new LinkedHashMap<>();
    if (object != null) {
      for (Map.Entry<String, JsonNode> field : object.properties()) {
        map.put(field.getKey(), of(field.getValue()));
      }
    }
    return map;
  }
}
