package io.kvasir.prompt.template;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Python's semantics of plain Java values: null is None, integers and floats are {@link Number}s, texts are strings of
 * code points, {@link List} and {@link Map} are list and dict.
 */
final class Values {
  private Values() {}

  /** A collection of unknown element type, to read from. */
  static Collection<@Nullable Object> view(Collection<?> any) {
    return Collections.unmodifiableCollection(any);
  }

  /** The string that a str or Markup is, else null. */
  static @Nullable String text(@Nullable Object value) {
    return value instanceof String s ? s : value instanceof Markup m ? m.text() : null;
  }

  static boolean truth(@Nullable Object value) {
    return switch (value) {
      case null -> false;
      case Boolean b -> b;
      case String s -> !s.isEmpty();
      case Collection<?> c -> !c.isEmpty();
      case Map<?, ?> m -> !m.isEmpty();
      case Undefined u -> false;
      case Number n -> Numbers.isInteger(n) ? Numbers.signum(n) != 0 : n.doubleValue() != 0;
      case Markup m -> !m.text().isEmpty();
      default -> true;
    };
  }

  static String typeName(@Nullable Object value) {
    return switch (value) {
      case null -> "NoneType";
      case Boolean b -> "bool";
      case String s -> "str";
      case Markup m -> "Markup";
      case Tuple t -> "tuple";
      case Range r -> "range";
      case Bytes b -> "bytes";
      case List<?> l -> "list";
      case DictView v -> v.kind().typeName;
      case Map<?, ?> m -> "dict";
      case Number n -> Numbers.isInteger(n) ? "int" : "float";
      case Generator g -> "generator";
      default -> value.getClass().getSimpleName();
    };
  }

  static TemplateException.Evaluation unsupported(String operator, @Nullable Object left, @Nullable Object right) {
    return new TemplateException.Evaluation("unsupported operand type(s) for " + operator + ": '"
        + typeName(left) + "' and '" + typeName(right) + "'");
  }

  /** Python's {@code str()}. */
  static String str(RenderContext render, @Nullable Object value) {
    return switch (value) {
      case null -> "None";
      case String s -> s;
      case Markup m -> m.text();
      case Undefined u -> "";
      default -> {
        StringBuilder out = new StringBuilder();
        Repr.append(render, out, value);
        yield out.toString();
      }
    };
  }

  /** A value's text for HTML: escaped unless it is safe. */
  static String safe(RenderContext render, @Nullable Object value) {
    return value instanceof Markup markup ? markup.text() : Markup.escape(render.budget(), str(render, value));
  }

  /** Python's {@code repr()}. */
  static String repr(RenderContext render, @Nullable Object value) {
    StringBuilder out = new StringBuilder();
    Repr.append(render, out, value);
    return out.toString();
  }

  /** Python's {@code ==}. */
  @SuppressWarnings("ReferenceEquality") // What is the same is equal, but for a NaN.
  static boolean equal(RenderContext render, @Nullable Object a, @Nullable Object b) {
    if (a == b) {
      return !(a instanceof Double d && d.isNaN());
    }
    return switch (a) {
      case null -> false;
      case String s -> sameText(render, s, text(b));
      case Markup m -> sameText(render, m.text(), text(b));
      case Boolean x -> Numbers.is(b) && Numbers.compare(render, a, b) == 0;
      case Number x -> Numbers.is(b) && !isNan(a) && !isNan(b) && Numbers.compare(render, a, b) == 0;
      case Undefined u -> b instanceof Undefined;
      case List<?> list -> b instanceof List<?> other && sameKind(list, other)
          && equalElements(render, list, other);
      case Map<?, ?> map -> b instanceof Map<?, ?> other && equalEntries(render, map, other);
      default -> false;
    };
  }

  private static boolean sameText(RenderContext render, String a, @Nullable String b) {
    if (b == null || a.length() != b.length()) {
      return false;
    }
    render.read(a.length());
    return a.equals(b);
  }

  private static boolean isNan(@Nullable Object value) {
    return value instanceof Number n && !Numbers.isInteger(n) && Double.isNaN(n.doubleValue());
  }

  private static boolean sameKind(List<?> a, List<?> b) {
    return (a instanceof Tuple) == (b instanceof Tuple) && (a instanceof Range) == (b instanceof Range)
        && (a instanceof Bytes) == (b instanceof Bytes);
  }

  private static boolean equalElements(RenderContext render, List<?> a, List<?> b) {
    if (a.size() != b.size()) {
      return false;
    }
    render.enter();
    boolean same = true;
    for (int i = 0; same && i < a.size(); i++) {
      render.step();
      same = equal(render, a.get(i), b.get(i));
    }
    render.leave();
    return same;
  }

  private static boolean equalEntries(RenderContext render, Map<?, ?> a, Map<?, ?> b) {
    if (a.size() != b.size()) {
      return false;
    }
    render.enter();
    boolean same = true;
    for (Iterator<? extends Map.Entry<?, ?>> entries = a.entrySet().iterator(); same && entries.hasNext(); ) {
      Map.Entry<?, ?> entry = entries.next();
      Object key = key(render, entry.getKey(), b);
      same = b.containsKey(key) && equal(render, entry.getValue(), b.get(key));
    }
    render.leave();
    return same;
  }

  /** Python's order: -1, 0, 1, or 2 for a NaN; {@code operator} names the comparison when the two have none. */
  static int compare(RenderContext render, String operator, @Nullable Object a, @Nullable Object b) {
    render.step();
    if (Numbers.is(a) && Numbers.is(b)) {
      return Numbers.compare(render, a, b);
    }
    String left = text(a);
    String right = text(b);
    if (left != null && right != null) {
      render.read(Math.min(left.length(), right.length()));
      return Text.compare(left, right);
    }
    if (a instanceof List<?> x && b instanceof List<?> y && sameKind(x, y) && !(a instanceof Range)) {
      render.enter();
      int order = Integer.compare(x.size(), y.size());
      for (int i = 0; i < Math.min(x.size(), y.size()); i++) {
        render.step();
        if (!equal(render, x.get(i), y.get(i))) {
          order = compare(render, operator, x.get(i), y.get(i));
          break;
        }
      }
      render.leave();
      return order;
    }
    if (a instanceof Undefined u) {
      throw u.refused();
    }
    if (b instanceof Undefined u) {
      throw u.refused();
    }
    throw new TemplateException.Evaluation("'" + operator + "' not supported between instances of '"
        + typeName(a) + "' and '" + typeName(b) + "'");
  }

  /** Sorts by an order of values, stably. */
  static <T> void sort(List<T> elements, Comparator<T> order) {
    try {
      elements.sort(order);
    } catch (IllegalArgumentException e) {
      throw new TemplateException.Evaluation("these values have no order");
    }
  }

  /** Python's order, in which what has none counts as the same. */
  static int order(RenderContext render, @Nullable Object a, @Nullable Object b) {
    int compared = compare(render, "<", a, b);
    return compared == 2 ? 0 : compared;
  }

  /** Python's {@code needle in haystack}. */
  static boolean contains(RenderContext render, @Nullable Object haystack, @Nullable Object needle) {
    String text = text(haystack);
    if (text != null) {
      String part = text(needle);
      if (part == null) {
        throw needle instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
            "'in <string>' requires string as left operand, not " + typeName(needle));
      }
      return new TextSearch(render.budget(), part).first(text, 0, text.length()) >= 0;
    }
    if (haystack instanceof Map<?, ?> map) {
      return map.containsKey(key(render, needle, map));
    }
    if (haystack instanceof Bytes && !Numbers.isInteger(needle)) {
      throw new TemplateException.Evaluation("a bytes-like object is required, not '" + typeName(needle) + "'");
    }
    if (haystack instanceof Number || haystack instanceof Boolean || haystack == null) {
      throw new TemplateException.Evaluation("argument of type '" + typeName(haystack) + "' is not iterable");
    }
    Iterator<@Nullable Object> elements = iterate(haystack);
    while (elements.hasNext()) {
      render.step();
      if (equal(render, elements.next(), needle)) {
        return true;
      }
    }
    return false;
  }

  /**
   * A value as a dict's key: the one that the dict has already if Python holds the two for the same. Charges what
   * finding it takes.
   */
  static @Nullable Object key(RenderContext render, @Nullable Object value, Map<?, ?> dict) {
    Object key = hashable(render, value);
    chargeKey(render, key, dict.size());
    if (key != null && Numbers.is(key)) {
      for (Object form : Numbers.forms(key)) {
        if (dict.containsKey(form)) {
          return form;
        }
      }
    }
    return key;
  }

  /** A value as an element of a set of {@code size} others. */
  static @Nullable Object element(RenderContext render, @Nullable Object value, int size) {
    Object key = Numbers.canonical(hashable(render, value));
    chargeKey(render, key, size);
    return key;
  }

  /** Keys of the same hash are compared with each other, and with each of them where they are not of one type. */
  private static void chargeKey(RenderContext render, @Nullable Object key, int size) {
    switch (key) {
      case String s -> render.steps(1 + (s.length() >> 2) + (size >> 5));
      case Tuple parts -> {
        long cost = 1;
        for (Object part : parts) {
          String text = text(part);
          cost += 1 + (text == null ? 0 : text.length() >> 2);
        }
        render.steps(cost * (size + 1L));
      }
      case null, default -> render.steps(1 + (size >> 5));
    }
  }

  /** Puts an entry into a dict that a template builds. */
  static void put(RenderContext render, Map<@Nullable Object, @Nullable Object> dict, @Nullable Object key,
      @Nullable Object value) {
    render.elements(2);
    dict.put(key(render, key, dict), value);
  }

  private static @Nullable Object hashable(RenderContext render, @Nullable Object value) {
    return switch (value) {
      case null -> null;
      case Markup m -> m.text();
      case Tuple t -> {
        render.enter();
        t.forEach(part -> hashable(render, part));
        render.leave();
        yield t;
      }
      case BigInteger n -> n;
      case Number n when Numbers.isInteger(n) -> (Object) n.longValue();
      case Number n -> n.doubleValue();
      case Bytes b -> b;
      case List<?> l -> throw unhashable(l);
      case Map<?, ?> m -> throw unhashable(m);
      default -> value;
    };
  }

  private static TemplateException.Evaluation unhashable(Object value) {
    return new TemplateException.Evaluation("unhashable type: '" + typeName(value) + "'");
  }

  /** Python's {@code len()}, or -1 where it has none. */
  static int sizeOrNone(RenderContext render, @Nullable Object value) {
    return switch (value) {
      case null -> -1;
      case String s -> Text.length(render, s);
      case Markup m -> Text.length(render, m.text());
      case Collection<?> c -> c.size();
      case Map<?, ?> m -> m.size();
      case Undefined u -> 0;
      default -> -1;
    };
  }

  static int size(RenderContext render, @Nullable Object value) {
    int size = sizeOrNone(render, value);
    if (size < 0) {
      throw new TemplateException.Evaluation("object of type '" + typeName(value) + "' has no len()");
    }
    return size;
  }

  static boolean isIterable(@Nullable Object value) {
    return text(value) != null || value instanceof Collection || value instanceof Map || value instanceof Undefined
        || value instanceof Generator;
  }

  /** Python's {@code iter()}; a generator goes on where it was left. */
  static Iterator<@Nullable Object> iterate(@Nullable Object value) {
    return switch (value) {
      case null -> throw notIterable(null);
      case String s -> Text.characters(s);
      case Markup m -> Text.characters(m.text());
      case Collection<?> c -> view(c).iterator();
      case Map<?, ?> m -> view(m.keySet()).iterator();
      case Generator g -> g.rest();
      case Undefined u -> Collections.emptyIterator();
      default -> throw notIterable(value);
    };
  }

  private static TemplateException.Evaluation notIterable(@Nullable Object value) {
    return new TemplateException.Evaluation("'" + typeName(value) + "' object is not iterable");
  }

  /** Python's {@code list()}: always a new list. */
  static List<@Nullable Object> list(RenderContext render, @Nullable Object value) {
    List<@Nullable Object> list = new ArrayList<>();
    Iterator<@Nullable Object> elements = iterate(value);
    while (elements.hasNext()) {
      render.element();
      list.add(elements.next());
    }
    return list;
  }

  /** What {@code value[index]} is; undefined where there is no such element. */
  static @Nullable Object item(RenderContext render, @Nullable Object value, @Nullable Object index) {
    if (value instanceof Map<?, ?> map) {
      if (index instanceof Map || (index instanceof List && !(index instanceof Tuple))) {
        return Undefined.member(map, index);
      }
      Object key = key(render, index, map);
      Object found = map.get(key);
      if (found != null || map.containsKey(key)) {
        return found;
      }
    } else if (value instanceof Undefined u) {
      throw u.refused();
    } else if (index instanceof BigInteger) {
      return Undefined.member(value, index);
    } else if (index instanceof Boolean || (index instanceof Number n && Numbers.isInteger(n))) {
      long i = Numbers.integer(index);
      if (value instanceof List<?> list) {
        long at = i < 0 ? i + list.size() : i;
        return at >= 0 && at < list.size() ? list.get((int) at) : Undefined.member(list, i);
      }
      String text = text(value);
      if (text != null) {
        String character = Text.at(render, text, i);
        return character == null ? Undefined.member(text, i) : character;
      }
    }
    String name = text(index);
    if (name != null) {
      render.read(name.length());
      return Rope.whole(render.budget(), Attributes.own(value, name));
    }
    return Undefined.member(value, index);
  }
}
