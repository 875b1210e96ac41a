package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Python's operators on values of any type. */
final class Operators {
  private Operators() {}

  static Object apply(RenderContext render, String operator, @Nullable Object left, @Nullable Object right) {
    if (left instanceof String a && right instanceof String b && operator.equals("+")) {
      render.reserve((long) a.length() + b.length());
      return a.concat(b);
    }
    Object number = NumberOperators.of(render, operator, left, right);
    if (number != null) {
      return number;
    }
    Object value = switch (operator) {
      case "+" -> add(render, left, right);
      case "*" -> {
        Object repeated = repeat(render, left, right);
        yield repeated != null ? repeated : repeat(render, right, left);
      }
      case "%" -> format(render, left, right);
      default -> null;
    };
    if (value == null) {
      if (left instanceof Undefined u) {
        throw u.refused();
      }
      if (right instanceof Undefined u) {
        throw u.refused();
      }
      throw Values.unsupported(operator, left, right);
    }
    return value;
  }

  private static @Nullable Object add(RenderContext render, @Nullable Object left, @Nullable Object right) {
    String a = Values.text(left);
    String b = Values.text(right);
    if (a != null && b != null) {
      String safeA = left instanceof Markup ? a : Markup.escape(render.budget(), a);
      String safeB = right instanceof Markup ? b : Markup.escape(render.budget(), b);
      render.reserve((long) safeA.length() + safeB.length());
      return new Markup(safeA.concat(safeB));
    }
    if (left instanceof Tuple x && right instanceof Tuple y) {
      return Tuple.copyOf(join(render, x, y));
    }
    if (left instanceof List<?> x && right instanceof List<?> y && isList(x) && isList(y)) {
      return Appended.of(render, x, y);
    }
    return null;
  }

  private static boolean isList(List<?> list) {
    return !(list instanceof Tuple) && !(list instanceof Range) && !(list instanceof Bytes);
  }

  private static List<@Nullable Object> join(RenderContext render, List<?> a, List<?> b) {
    render.elements((long) a.size() + b.size());
    List<@Nullable Object> all = new ArrayList<>(a.size() + b.size());
    all.addAll(Values.view(a));
    all.addAll(Values.view(b));
    return all;
  }

  private static @Nullable Object repeat(RenderContext render, @Nullable Object value, @Nullable Object times) {
    if (!Numbers.isInteger(times)) {
      return null;
    }
    long count = Math.max(0, Numbers.integer(times));
    String text = Values.text(value);
    if (text != null) {
      render.reserve(multiply(text.length(), count));
      String repeated = text.isEmpty() ? "" : text.repeat((int) count);
      return value instanceof Markup ? new Markup(repeated) : repeated;
    }
    if (value instanceof List<?> list && !(list instanceof Range) && !(list instanceof Bytes)) {
      render.elements(multiply(list.size(), count));
      List<@Nullable Object> all = new ArrayList<>();
      for (long i = 0; i < count && !list.isEmpty(); i++) {
        all.addAll(Values.view(list));
      }
      return value instanceof Tuple ? Tuple.copyOf(all) : all;
    }
    return null;
  }

  private static long multiply(long size, long count) {
    return size == 0 ? 0 : count > Long.MAX_VALUE / size ? Long.MAX_VALUE >> 1 : size * count;
  }

  private static @Nullable Object format(RenderContext render, @Nullable Object left, @Nullable Object right) {
    String text = Values.text(left);
    if (text == null) {
      return null;
    }
    boolean markup = left instanceof Markup;
    String formatted = PercentFormat.format(render, text, right, markup);
    return markup ? new Markup(formatted) : formatted;
  }

  static boolean compare(RenderContext render, String operator, @Nullable Object left, @Nullable Object right) {
    return switch (operator) {
      case "==" -> Values.equal(render, left, right);
      case "!=" -> !Values.equal(render, left, right);
      case "in" -> Values.contains(render, right, left);
      case "not in" -> !Values.contains(render, right, left);
      default -> {
        int order = Values.compare(render, operator, left, right);
        yield order != 2 && switch (operator) {
          case "<" -> order < 0;
          case "<=" -> order <= 0;
          case ">" -> order > 0;
          default -> order >= 0;
        };
      }
    };
  }

  /** {@code value[start:stop:step]}. */
  static Object slice(RenderContext render, @Nullable Object value, @Nullable Long start, @Nullable Long stop,
      @Nullable Long step) {
    // No text or list is longer; a larger step would overflow.
    long by = step == null ? 1 : Math.clamp(step, -1L << 40, 1L << 40);
    if (by == 0) {
      throw new TemplateException.Evaluation("slice step cannot be zero");
    }
    String text = Values.text(value);
    if (text != null) {
      String sliced = sliceText(render, text, start, stop, by);
      return value instanceof Markup ? new Markup(sliced) : sliced;
    }
    if (value instanceof Bytes bytes && by == 1) {
      int from = (int) first(start, by, bytes.size());
      return bytes.slice(render, from, Math.max(from, (int) last(stop, by, bytes.size())));
    }
    if (value instanceof List<?> list) {
      if (by == 1 && !(value instanceof Tuple)) {
        render.element();
        int from = (int) first(start, by, list.size());
        return list.subList(from, Math.max(from, (int) last(stop, by, list.size())));
      }
      List<@Nullable Object> sliced = sliceList(render, list, start, stop, by);
      return value instanceof Tuple ? Tuple.copyOf(sliced) : sliced;
    }
    throw value instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
        "'" + Values.typeName(value) + "' object is not subscriptable");
  }

  private static String sliceText(RenderContext render, String text, @Nullable Long start, @Nullable Long stop,
      long step) {
    int length = Text.length(render, text);
    long from = first(start, step, length);
    long to = last(stop, step, length);
    if (step == 1) {
      int begin = from >= to ? 0 : Text.index(render, text, from);
      int end = from >= to ? 0 : Text.index(render, text, to);
      render.reserve(end - begin);
      return text.substring(begin, end);
    }
    // Four bytes a code point, and the text again.
    render.reserve(3L * text.length());
    int[] points = text.codePoints().toArray();
    StringBuilder out = new StringBuilder();
    for (long i = from; step > 0 ? i < to : i > to; i += step) {
      out.appendCodePoint(points[(int) i]);
    }
    return out.toString();
  }

  private static List<@Nullable Object> sliceList(RenderContext render, List<?> list, @Nullable Long start,
      @Nullable Long stop, long step) {
    long to = last(stop, step, list.size());
    List<@Nullable Object> out = new ArrayList<>();
    for (long i = first(start, step, list.size()); step > 0 ? i < to : i > to; i += step) {
      render.element();
      out.add(list.get((int) i));
    }
    return out;
  }

  private static long first(@Nullable Long start, long step, int length) {
    if (start == null) {
      return step > 0 ? 0 : length - 1L;
    }
    return clamp(start, step, length);
  }

  private static long last(@Nullable Long stop, long step, int length) {
    if (stop == null) {
      return step > 0 ? length : -1;
    }
    return clamp(stop, step, length);
  }

  private static long clamp(long index, long step, int length) {
    long i = index < 0 ? index + length : index;
    return step > 0 ? Math.clamp(i, 0L, (long) length) : Math.clamp(i, -1L, length - 1L);
  }
}
