package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Python's {@code json.dumps}: its separators, escapes, floats and order of keys. */
final class Json {
  private static final HexFormat HEX = HexFormat.of();

  private final RenderContext render;
  private final StringBuilder out = new StringBuilder();
  private final boolean ascii;
  private final @Nullable String indent;
  private final String itemSeparator;
  private final String keySeparator;
  private final boolean sortKeys;

  private Json(RenderContext render, boolean ascii, @Nullable String indent, @Nullable Object separators,
      boolean sortKeys) {
    this.render = render;
    this.ascii = ascii;
    this.indent = indent;
    this.sortKeys = sortKeys;
    if (separators == null) {
      itemSeparator = indent == null ? ", " : ",";
      keySeparator = ": ";
    } else {
      List<@Nullable Object> both = Values.list(render, separators);
      if (both.size() != 2) {
        throw new TemplateException.Evaluation("tojson separators must be a pair");
      }
      itemSeparator = Values.str(render, both.get(0));
      keySeparator = Values.str(render, both.get(1));
    }
  }

  static String dumps(RenderContext render, @Nullable Object value, boolean ascii, @Nullable Object indent,
      @Nullable Object separators, boolean sortKeys) {
    String unit = null;
    if (indent != null) {
      unit = indent instanceof String s ? s : " ".repeat(Math.clamp(Numbers.integer(indent), 0, 1000));
    }
    Json json = new Json(render, ascii, unit, separators, sortKeys);
    json.value(value, 0);
    return json.out.toString();
  }

  private void value(@Nullable Object value, int depth) {
    render.enter();
    switch (value) {
      case null -> put("null");
      case String s -> string(s);
      case Markup m -> string(m.text());
      case Boolean b -> put(b.toString());
      case Number n -> put(number(n));
      case List<?> list when !(list instanceof Range) && !(list instanceof Bytes) -> list(list, depth);
      case Map<?, ?> map -> map(map, depth);
      default -> throw new TemplateException.Evaluation(
          "Object of type " + Values.typeName(value) + " is not JSON serializable");
    }
    render.leave();
  }

  private void put(String text) {
    render.reserve(text.length());
    out.append(text);
  }

  private String number(Number n) {
    if (Numbers.isInteger(n)) {
      return Numbers.str(render, n);
    }
    double d = n.doubleValue();
    return Double.isNaN(d) ? "NaN" : Double.isInfinite(d) ? (d > 0 ? "Infinity" : "-Infinity") : Numbers.str(d);
  }

  private void list(List<?> list, int depth) {
    if (list.isEmpty()) {
      put("[]");
      return;
    }
    put("[");
    for (int i = 0; i < list.size(); i++) {
      if (i > 0) {
        put(itemSeparator);
      }
      newline(depth + 1);
      value(list.get(i), depth + 1);
    }
    newline(depth);
    put("]");
  }

  private void map(Map<?, ?> map, int depth) {
    if (map.isEmpty()) {
      put("{}");
      return;
    }
    put("{");
    boolean first = true;
    for (Iterator<? extends Map.Entry<?, ?>> i = entries(map); i.hasNext(); ) {
      Map.Entry<?, ?> entry = i.next();
      if (!first) {
        put(itemSeparator);
      }
      first = false;
      newline(depth + 1);
      string(key(entry.getKey()));
      put(keySeparator);
      value(entry.getValue(), depth + 1);
    }
    newline(depth);
    put("}");
  }

  private Iterator<? extends Map.Entry<?, ?>> entries(Map<?, ?> map) {
    Set<? extends Map.Entry<?, ?>> entries = map.entrySet();
    if (!sortKeys) {
      return entries.iterator();
    }
    render.elements(entries.size());
    List<Map.Entry<?, ?>> sorted = new ArrayList<>(entries);
    Values.sort(sorted, (a, b) -> Values.order(render, a.getKey(), b.getKey()));
    return sorted.iterator();
  }

  private String key(@Nullable Object key) {
    return switch (key) {
      case null -> "null";
      case Boolean b -> b.toString();
      case Number n -> number(n);
      case String s -> s;
      default -> throw new TemplateException.Evaluation(
          "keys must be str, int, float, bool or None, not " + Values.typeName(key));
    };
  }

  private void newline(int depth) {
    if (indent != null) {
      render.reserve(1 + (long) indent.length() * depth);
      out.append('\n').repeat(indent, depth);
    }
  }

  private void string(String s) {
    render.reserve(s.length() + 2L);
    out.append('"');
    int clean = 0;
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c >= ' ' && c != '"' && c != '\\' && (!ascii || c < 0x7f)) {
        continue;
      }
      out.append(s, clean, i);
      clean = i + 1;
      switch (c) {
        case '"' -> put("\\\"");
        case '\\' -> put("\\\\");
        case '\n' -> put("\\n");
        case '\r' -> put("\\r");
        case '\t' -> put("\\t");
        case '\f' -> put("\\f");
        case '\b' -> put("\\b");
        default -> put("\\u" + HEX.toHexDigits(c));
      }
    }
    out.append(s, clean, s.length()).append('"');
  }
}
