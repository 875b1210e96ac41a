package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Python's {@code pprint.pformat}: {@code repr()} in lines of 80 characters, and dicts in the order of their keys. */
final class PrettyPrint {
  private static final int WIDTH = 80;
  private static final Pattern WORD = Pattern.compile("\\S*\\s*", Pattern.UNICODE_CHARACTER_CLASS);

  private final RenderContext render;
  private final StringBuilder out = new StringBuilder();

  private PrettyPrint(RenderContext render) {
    this.render = render;
  }

  static String format(RenderContext render, @Nullable Object value) {
    PrettyPrint pretty = new PrettyPrint(render);
    pretty.value(value, 0, 0, 0);
    return pretty.out.toString();
  }

  private void put(String text) {
    render.reserve(text.length());
    out.append(text);
  }

  /** With {@code after} characters following in its last line. */
  private void value(@Nullable Object value, int indent, int after, int level) {
    render.enter();
    String line = Values.repr(render, sorted(value));
    if (Text.length(render, line) <= WIDTH - indent - after) {
      put(line);
    } else {
      switch (value) {
        case Map<?, ?> map when !map.isEmpty() -> {
          put("{");
          entries(map, indent + 1, after + 1, level + 1);
          put("}");
        }
        case Tuple tuple -> {
          put("(");
          elements(tuple, indent + 1, after + (tuple.size() == 1 ? 2 : 1), level + 1);
          put(tuple.size() == 1 ? ",)" : ")");
        }
        case List<?> list when !(list instanceof Range) && !(list instanceof Bytes) -> {
          put("[");
          elements(list, indent + 1, after + 1, level + 1);
          put("]");
        }
        case String text when !text.isEmpty() -> text(text, indent, after, level + 1);
        case null, default -> put(line);
      }
    }
    render.leave();
  }

  private void elements(List<?> list, int indent, int after, int level) {
    for (int i = 0; i < list.size(); i++) {
      next(i, indent);
      value(list.get(i), indent, i == list.size() - 1 ? after : 1, level);
    }
  }

  private void next(int i, int indent) {
    if (i > 0) {
      put(",\n");
      put(" ".repeat(indent));
    }
  }

  private void entries(Map<?, ?> map, int indent, int after, int level) {
    int i = 0;
    for (Map.Entry<?, ?> entry : byKey(map)) {
      next(i++, indent);
      String key = Values.repr(render, sorted(entry.getKey()));
      put(key);
      put(": ");
      value(entry.getValue(), indent + Text.length(render, key) + 2, i == map.size() ? after : 1, level);
    }
  }

  /** The value with every dict in it sorted. */
  private @Nullable Object sorted(@Nullable Object value) {
    render.enter();
    Object sorted = switch (value) {
      case Map<?, ?> map -> {
        Map<@Nullable Object, @Nullable Object> copy = new LinkedHashMap<>();
        for (Map.Entry<?, ?> entry : byKey(map)) {
          copy.put(entry.getKey(), sorted(entry.getValue()));
        }
        yield copy;
      }
      case Tuple tuple -> Tuple.copyOf(sortedElements(tuple));
      case List<?> list when !(list instanceof Range) && !(list instanceof Bytes) -> sortedElements(list);
      case null, default -> value;
    };
    render.leave();
    return sorted;
  }

  private List<@Nullable Object> sortedElements(List<?> list) {
    render.elements(list.size());
    List<@Nullable Object> copy = new ArrayList<>(list.size());
    for (Object element : list) {
      copy.add(sorted(element));
    }
    return copy;
  }

  private List<Map.Entry<?, ?>> byKey(Map<?, ?> map) {
    render.elements(2L * map.size());
    List<Map.Entry<?, ?>> entries = new ArrayList<>(map.entrySet());
    Values.sort(entries, (a, b) -> order(a.getKey(), b.getKey()));
    return entries;
  }

  /** Keys of types that have no order with each other are in the order of their types' names. */
  private int order(@Nullable Object a, @Nullable Object b) {
    boolean ordered = (Numbers.is(a) && Numbers.is(b)) || (Values.text(a) != null && Values.text(b) != null);
    return ordered ? Values.order(render, a, b) : Values.typeName(a).compareTo(Values.typeName(b));
  }

  /** A text as several, each in a line of its own. */
  private void text(String text, int givenIndent, int givenAfter, int level) {
    int indent = level == 1 ? givenIndent + 1 : givenIndent;
    int after = level == 1 ? givenAfter + 1 : givenAfter;
    List<String> lines = Text.lines(render, text, true);
    List<String> chunks = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      boolean last = i == lines.size() - 1;
      String whole = Values.repr(render, lines.get(i));
      if (Text.length(render, whole) <= WIDTH - indent - (last ? after : 0)) {
        chunks.add(whole);
      } else {
        words(lines.get(i), WIDTH - indent, last ? after : 0, chunks);
      }
    }
    put(level == 1 && chunks.size() > 1 ? "(" : "");
    // Whose room is taken as it is joined: the indent of a long key may be long.
    out.append(StringMethods.join(render, "\n" + " ".repeat(indent), chunks.iterator()));
    put(level == 1 && chunks.size() > 1 ? ")" : "");
  }

  private void words(String line, int width, int after, List<String> chunks) {
    Matcher words = WORD.matcher(line);
    String current = "";
    while (words.find() && words.end() > words.start()) {
      int limit = words.end() == line.length() ? width - after : width;
      render.reserve(words.end() - words.start() + (long) current.length());
      String candidate = current + words.group();
      if (Text.length(render, Values.repr(render, candidate)) > limit) {
        if (!current.isEmpty()) {
          chunks.add(Values.repr(render, current));
        }
        current = words.group();
      } else {
        current = candidate;
      }
    }
    if (!current.isEmpty()) {
      chunks.add(Values.repr(render, current));
    }
  }
}
