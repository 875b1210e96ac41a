package io.kvasir.prompt.template;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Python's {@code repr()}, by which values print inside others. */
final class Repr {
  private Repr() {}

  static void append(RenderContext render, StringBuilder out, @Nullable Object value) {
    render.step();
    render.check(out.length());
    switch (value) {
      case null -> out.append("None");
      case Boolean b -> out.append(b ? "True" : "False");
      case String s -> quote(out, s);
      case Markup m -> {
        out.append("Markup(");
        quote(out, m.text());
        out.append(')');
      }
      case Number n -> out.append(Numbers.str(n));
      case Range r -> out.append(r);
      case Tuple t -> elements(render, out, t, "(", t.size() == 1 ? ",)" : ")");
      case List<?> l -> elements(render, out, l, "[", "]");
      case Map<?, ?> m -> entries(render, out, m);
      case Undefined u -> out.append("Undefined");
      case DictView v -> {
        out.append(v.kind().typeName);
        elements(render, out, Tuple.copyOf(v), "([", "])");
      }
      case Namespace n -> {
        out.append("<Namespace ");
        entries(render, out, n.attributes());
        out.append('>');
      }
      default -> out.append(value);
    }
  }

  private static void elements(RenderContext render, StringBuilder out, List<?> list, String open, String close) {
    out.append(open);
    for (int i = 0; i < list.size(); i++) {
      if (i > 0) {
        out.append(", ");
      }
      append(render, out, list.get(i));
    }
    out.append(close);
  }

  private static void entries(RenderContext render, StringBuilder out, Map<?, ?> map) {
    out.append('{');
    String separator = "";
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      out.append(separator);
      append(render, out, entry.getKey());
      out.append(": ");
      append(render, out, entry.getValue());
      separator = ", ";
    }
    out.append('}');
  }

  private static void quote(StringBuilder out, String s) {
    char quote = s.indexOf('\'') >= 0 && s.indexOf('"') < 0 ? '"' : '\'';
    out.append(quote);
    for (int i = 0; i < s.length(); ) {
      int c = s.codePointAt(i);
      i += Character.charCount(c);
      if (c == quote || c == '\\') {
        out.append('\\').append((char) c);
      } else if (c == '\n') {
        out.append("\\n");
      } else if (c == '\r') {
        out.append("\\r");
      } else if (c == '\t') {
        out.append("\\t");
      } else if (Text.isPrintable(c)) {
        out.appendCodePoint(c);
      } else if (c < 0x100) {
        out.append(String.format("\\x%02x", c));
      } else if (c < 0x10000) {
        out.append(String.format("\\u%04x", c));
      } else {
        out.append(String.format("\\U%08x", c));
      }
    }
    out.append(quote);
  }
}
