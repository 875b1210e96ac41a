package io.kvasir.prompt.template;

import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Python's {@code repr()}, by which values print inside others. */
final class Repr {
  private static final HexFormat HEX = HexFormat.of();

  private Repr() {}

  static void append(RenderContext render, StringBuilder out, @Nullable Object value) {
    render.enter();
    switch (value) {
      case null -> put(render, out, "None");
      case Boolean b -> put(render, out, b ? "True" : "False");
      case String s -> quote(render, out, s);
      case Markup m -> {
        put(render, out, "Markup(");
        quote(render, out, m.text());
        put(render, out, ")");
      }
      case Number n -> put(render, out, Numbers.str(render, n));
      case Range r -> put(render, out, r.toString());
      case Bytes b -> put(render, out, b.repr(render));
      case Tuple t -> elements(render, out, t, "(", t.size() == 1 ? ",)" : ")");
      case List<?> l -> elements(render, out, l, "[", "]");
      case Map<?, ?> m -> entries(render, out, m);
      case Rope r -> quote(render, out, r.whole(render.budget()));
      case Undefined u -> put(render, out, "Undefined");
      case DictView v -> {
        put(render, out, v.kind().typeName);
        elements(render, out, v, "([", "])");
      }
      case Namespace n -> {
        put(render, out, "<Namespace ");
        entries(render, out, n.attributes());
        put(render, out, ">");
      }
      default -> put(render, out, value.toString());
    }
    render.leave();
  }

  private static void put(RenderContext render, StringBuilder out, String text) {
    render.reserve(text.length());
    out.append(text);
  }

  private static void elements(RenderContext render, StringBuilder out, Collection<? extends @Nullable Object> all,
      String open, String close) {
    String separator = open;
    for (Object element : all) {
      put(render, out, separator);
      append(render, out, element);
      separator = ", ";
    }
    put(render, out, all.isEmpty() ? open + close : close);
  }

  private static void entries(RenderContext render, StringBuilder out, Map<?, ?> map) {
    put(render, out, "{");
    String separator = "";
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      put(render, out, separator);
      append(render, out, entry.getKey());
      put(render, out, ": ");
      append(render, out, entry.getValue());
      separator = ", ";
    }
    put(render, out, "}");
  }

  private static void quote(RenderContext render, StringBuilder out, String s) {
    render.reserve(s.length() + 2L);
    char quote = s.indexOf('\'') >= 0 && s.indexOf('"') < 0 ? '"' : '\'';
    out.append(quote);
    for (int i = 0; i < s.length(); ) {
      int c = s.codePointAt(i);
      i += Character.charCount(c);
      if (c == quote || c == '\\') {
        put(render, out, "\\");
        out.append((char) c);
      } else if (c == '\n') {
        put(render, out, "\\n");
      } else if (c == '\r') {
        put(render, out, "\\r");
      } else if (c == '\t') {
        put(render, out, "\\t");
      } else if (Text.isPrintable(c)) {
        out.appendCodePoint(c);
      } else if (c < 0x100) {
        put(render, out, "\\x" + HEX.toHexDigits(c, 2));
      } else if (c < 0x10000) {
        put(render, out, "\\u" + HEX.toHexDigits(c, 4));
      } else {
        put(render, out, "\\U" + HEX.toHexDigits(c, 8));
      }
    }
    out.append(quote);
  }
}
