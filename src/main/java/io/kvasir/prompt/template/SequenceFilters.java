package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The filters on lists, dicts and other iterables. */
final class SequenceFilters {
  /** The key of an element for a sort, a test or a join. */
  @FunctionalInterface
  private interface Key {
    @Nullable Object of(@Nullable Object element);
  }

  private SequenceFilters() {}

  static void define() {
    Filters.define("list", "", (r, v, a) -> Values.list(r, v));
    Filters.define("items", "", (r, v, a) -> items(v));
    Filters.define("first", "", (r, v, a) -> {
      Iterator<@Nullable Object> elements = Values.iterate(v);
      return elements.hasNext() ? elements.next() : Undefined.because("No first item, sequence was empty.");
    });
    Filters.define("last", "", (r, v, a) -> {
      List<@Nullable Object> all = reversed(r, v);
      return all.isEmpty() ? Undefined.because("No last item, sequence was empty.") : all.getFirst();
    });
    Filters.define("reverse", "", (r, v, a) -> {
      String text = Values.text(v);
      return text == null ? new Generator(Values.list(r, v).reversed().iterator())
          : v instanceof Markup ? new Markup(reversed(r, text)) : reversed(r, text);
    });
    Filters.define("join", "d attribute", SequenceFilters::join);
    Filters.define("sort", "reverse case_sensitive attribute", (r, v, a) ->
        sorted(r, Values.list(r, v), attributes(r, a, 2), SequenceFilters::orderOfEqual, a.flag(1, false),
            a.flag(0, false)));
    Filters.define("min", "case_sensitive attribute", (r, v, a) -> extreme(r, v, a, false));
    Filters.define("max", "case_sensitive attribute", (r, v, a) -> extreme(r, v, a, true));
    Filters.define("sum", "attribute start", SequenceFilters::sum);
    Filters.define("unique", "case_sensitive attribute", SequenceFilters::unique);
    Filters.define("groupby", "attribute default case_sensitive", SequenceFilters::group);
    Filters.define("batch", "linecount fill_with", SequenceFilters::batch);
    Filters.define("slice", "slices fill_with", SequenceFilters::slice);
    Filters.define("dictsort", "case_sensitive by reverse", SequenceFilters::dictSort);
    Filters.raw("map", SequenceFilters::map);
    Filters.raw("select", (r, v, a) -> select(r, v, e -> e, a, true));
    Filters.raw("reject", (r, v, a) -> select(r, v, e -> e, a, false));
    Filters.raw("selectattr", (r, v, a) -> select(r, v, attribute(r, a.get(0), false, null), a.after(1), true));
    Filters.raw("rejectattr", (r, v, a) -> select(r, v, attribute(r, a.get(0), false, null), a.after(1), false));
  }

  private static Object items(@Nullable Object value) {
    if (value instanceof Undefined) {
      return new Generator(Values.iterate(value));
    }
    if (!(value instanceof Map<?, ?> map)) {
      throw new TemplateException.Evaluation("Can only get item pairs from a mapping.");
    }
    return new Generator(new DictView(DictView.Kind.ITEMS, map).iterator());
  }

  /** A dict's items, or the value itself. */
  static @Nullable Object pairs(@Nullable Object value) {
    return value instanceof Map<?, ?> map ? new DictView(DictView.Kind.ITEMS, map) : value;
  }

  private static String reversed(RenderContext render, String text) {
    render.reserve(text.length());
    return Text.reverse(text);
  }

  private static List<@Nullable Object> reversed(RenderContext render, @Nullable Object value) {
    if (value instanceof Generator) {
      throw new TemplateException.Evaluation("'generator' object is not reversible");
    }
    return Values.list(render, value).reversed();
  }

  /** Reads {@code a.b.0} from an element, part by part. */
  private static Key attribute(RenderContext render, @Nullable Object path, boolean hasDefault,
      @Nullable Object otherwise) {
    String given = Values.text(path);
    String text = given == null ? Long.toString(Numbers.integer(path)) : given;
    List<Object> parts = new ArrayList<>();
    for (String part : Text.split(render, text, ".", -1)) {
      boolean index = !part.isEmpty() && part.length() < 10 && part.chars().allMatch(c -> c >= '0' && c <= '9');
      parts.add(index ? (Object) Long.valueOf(part) : part);
    }
    return element -> {
      Object value = element;
      for (Object part : parts) {
        value = Values.item(render, value, part);
        render.step();
        if (hasDefault && value instanceof Undefined) {
          value = otherwise;
        }
      }
      return value;
    };
  }

  private static Key attributes(RenderContext render, Arguments a, int i) {
    if (!a.given(i)) {
      return element -> element;
    }
    String text = Values.text(a.get(i));
    if (text == null || text.indexOf(',') < 0) {
      return attribute(render, a.get(i), false, null);
    }
    List<Key> keys = new ArrayList<>();
    for (String path : Text.split(render, text, ",", -1)) {
      keys.add(attribute(render, path, false, null));
    }
    return element -> {
      render.elements(keys.size());
      @Nullable Object[] values = new Object[keys.size()];
      for (int k = 0; k < values.length; k++) {
        values[k] = keys.get(k).of(element);
      }
      return Tuple.of(values);
    };
  }

  private static Key folded(RenderContext render, Key key, boolean caseSensitive) {
    return caseSensitive ? key : element -> fold(render, key.of(element));
  }

  private static @Nullable Object fold(RenderContext render, @Nullable Object value) {
    return switch (value) {
      case String s -> lower(render, s);
      case Markup m -> lower(render, m.text());
      case Tuple t -> {
        render.enter();
        render.elements(t.size());
        List<@Nullable Object> parts = new ArrayList<>();
        for (Object part : t) {
          parts.add(fold(render, part));
        }
        render.leave();
        yield Tuple.copyOf(parts);
      }
      case null, default -> value;
    };
  }

  private static String lower(RenderContext render, String text) {
    render.reserve(text.length());
    return render.made(Text.lower(text), text.length());
  }

  /** The order of two keys. */
  @FunctionalInterface
  private interface Order {
    int of(RenderContext render, @Nullable Object a, @Nullable Object b);
  }

  /** Python's order of lists with one element: what is equal needs no order. */
  private static int orderOfEqual(RenderContext render, @Nullable Object a, @Nullable Object b) {
    return Values.equal(render, a, b) ? 0 : Values.order(render, a, b);
  }

  private record Keyed(@Nullable Object key, @Nullable Object element) {}

  private static List<@Nullable Object> sorted(RenderContext render, List<@Nullable Object> elements, Key key,
      Order of, boolean caseSensitive, boolean reverse) {
    Key folded = folded(render, key, caseSensitive);
    render.elements(2L * elements.size());
    List<Keyed> keyed = new ArrayList<>();
    for (Object element : elements) {
      keyed.add(new Keyed(folded.of(element), element));
    }
    Comparator<Keyed> order = (x, y) -> of.of(render, x.key(), y.key());
    Values.sort(keyed, reverse ? order.reversed() : order);
    List<@Nullable Object> sorted = new ArrayList<>();
    for (Keyed entry : keyed) {
      sorted.add(entry.element());
    }
    return sorted;
  }

  private static @Nullable Object extreme(RenderContext render, @Nullable Object value, Arguments a, boolean max) {
    Key key = folded(render, attributes(render, a, 1), a.flag(0, false));
    Iterator<@Nullable Object> elements = Values.iterate(value);
    if (!elements.hasNext()) {
      return Undefined.because("No aggregated item, sequence was empty.");
    }
    Object best = elements.next();
    while (elements.hasNext()) {
      Object element = elements.next();
      render.step();
      int order = Values.compare(render, max ? ">" : "<", key.of(element), key.of(best));
      if (max ? order == 1 : order < 0) {
        best = element;
      }
    }
    return best;
  }

  private static Object join(RenderContext render, @Nullable Object value, Arguments a) {
    Key key = attributes(render, a, 1);
    Iterator<@Nullable Object> elements = Values.iterate(value);
    if (render.escapes()) {
      return joinSafe(render, elements, key, a.get(0, ""));
    }
    Iterator<@Nullable Object> texts = new Iterator<>() {
      @Override
      public boolean hasNext() {
        return elements.hasNext();
      }

      @Override
      public Object next() {
        return Values.str(render, key.of(elements.next()));
      }
    };
    return StringMethods.join(render, Values.str(render, a.get(0, "")), texts);
  }

  /** In HTML: if any text is safe the others are escaped, and the whole is safe. */
  private static Object joinSafe(RenderContext render, Iterator<@Nullable Object> elements, Key key,
      @Nullable Object separator) {
    List<@Nullable Object> parts = new ArrayList<>();
    boolean safe = separator instanceof Markup;
    while (elements.hasNext()) {
      Object part = key.of(elements.next());
      render.element();
      parts.add(part);
      safe |= part instanceof Markup;
    }
    boolean escape = safe;
    parts.replaceAll(part -> escape ? Values.safe(render, part) : Values.str(render, part));
    String joined = StringMethods.join(
        render, escape ? Values.safe(render, separator) : Values.str(render, separator), parts.iterator());
    return escape ? new Markup(joined) : joined;
  }

  private static @Nullable Object sum(RenderContext render, @Nullable Object value, Arguments a) {
    Key key = attributes(render, a, 0);
    Object sum = a.get(1, 0L);
    Iterator<@Nullable Object> elements = Values.iterate(value);
    while (elements.hasNext()) {
      render.step();
      sum = Operators.apply(render, "+", sum, key.of(elements.next()));
    }
    return sum;
  }

  private static Object unique(RenderContext render, @Nullable Object value, Arguments a) {
    Key key = folded(render, attributes(render, a, 1), a.flag(0, false));
    Set<@Nullable Object> seen = new HashSet<>();
    return Generator.of(render, Values.iterate(value), element -> {
      render.elements(2);
      return seen.add(Values.element(render, key.of(element), seen.size())) ? element : Generator.SKIP;
    });
  }

  private static Object group(RenderContext render, @Nullable Object value, Arguments a) {
    Key key = attribute(render, a.get(0), a.has(1), a.get(1, null));
    boolean caseSensitive = a.flag(2, false);
    Key folded = folded(render, key, caseSensitive);
    List<@Nullable Object> groups = new ArrayList<>();
    List<@Nullable Object> members = new ArrayList<>();
    Object current = null;
    for (Object element : sorted(render, Values.list(render, value), key, Values::order, caseSensitive, false)) {
      Object of = folded.of(element);
      if (members.isEmpty() || !Values.equal(render, of, current)) {
        members = new ArrayList<>();
        render.elements(4);
        groups.add(Tuple.group(key.of(element), members));
        current = of;
      }
      render.element();
      members.add(element);
    }
    return groups;
  }

  private static Object batch(RenderContext render, @Nullable Object value, Arguments a) {
    long count = Numbers.integer(a.get(0));
    List<@Nullable Object> batches = new ArrayList<>();
    List<@Nullable Object> batch = new ArrayList<>();
    Iterator<@Nullable Object> elements = Values.iterate(value);
    while (elements.hasNext()) {
      if (batch.size() == count) {
        render.elements(4);
        batches.add(batch);
        batch = new ArrayList<>();
      }
      render.element();
      batch.add(elements.next());
    }
    if (!batch.isEmpty()) {
      while (a.given(1) && batch.size() < count) {
        render.element();
        batch.add(a.get(1));
      }
      batches.add(batch);
    }
    return new Generator(batches.iterator());
  }

  private static Object slice(RenderContext render, @Nullable Object value, Arguments a) {
    List<@Nullable Object> all = Values.list(render, value);
    long slices = Numbers.integer(a.get(0));
    if (slices < 1) {
      throw new TemplateException.Evaluation("slice needs at least one slice");
    }
    int per = (int) (all.size() / slices);
    int extra = (int) (all.size() % slices);
    List<@Nullable Object> result = new ArrayList<>();
    int from = 0;
    for (int i = 0; i < slices; i++) {
      int to = from + per + (i < extra ? 1 : 0);
      render.elements(4L + to - from);
      List<@Nullable Object> slice = new ArrayList<>(all.subList(from, to));
      if (a.given(1) && i >= extra) {
        slice.add(a.get(1));
      }
      result.add(slice);
      from = to;
    }
    return new Generator(result.iterator());
  }

  private static Object dictSort(RenderContext render, @Nullable Object value, Arguments a) {
    if (!(value instanceof Map<?, ?> map)) {
      throw value instanceof Undefined u ? u.refused() : new TemplateException.Evaluation(
          "'" + Values.typeName(value) + "' object has no attribute 'items'");
    }
    int part = switch (a.text(1, "key")) {
      case "key" -> 0;
      case "value" -> 1;
      default -> throw new TemplateException.Evaluation("You can only sort by either \"key\" or \"value\"");
    };
    List<@Nullable Object> items = Values.list(render, new DictView(DictView.Kind.ITEMS, map));
    return sorted(render, items, attribute(render, (long) part, false, null), Values::order, a.flag(0, false),
        a.flag(2, false));
  }

  private static Object map(RenderContext render, @Nullable Object value, Arguments a) {
    UnaryOperator<@Nullable Object> change;
    if (a.size() == 0 && a.keywords().containsKey("attribute")) {
      boolean hasDefault = a.keywords().containsKey("default");
      Key key = attribute(render, a.keywords().get("attribute"), hasDefault, a.keywords().get("default"));
      change = key::of;
    } else if (a.size() == 0) {
      throw new TemplateException.Evaluation("map requires a filter argument");
    } else {
      String name = a.text(0);
      Filters.Filter filter = Filters.find(name);
      if (filter == null) {
        throw Filters.unknown(name);
      }
      Arguments rest = a.after(1);
      change = element -> filter.apply(render, element, rest);
    }
    return Generator.of(
        render, Values.truth(value) ? Values.iterate(value) : new ArrayList<>().iterator(), change);
  }

  /** Elements of which {@code key} passes the test that {@code testing} begins with, or is true without one. */
  private static Object select(RenderContext render, @Nullable Object value, Key key, Arguments testing,
      boolean wanted) {
    Tests.Test test;
    if (testing.size() == 0) {
      test = (r, v, a) -> Values.truth(v);
    } else {
      String name = testing.text(0);
      Tests.Test found = Tests.find(name);
      if (found == null) {
        throw Tests.unknown(name);
      }
      test = found;
    }
    Arguments rest = testing.after(1);
    Iterator<@Nullable Object> elements = Values.truth(value) ? Values.iterate(value)
        : new ArrayList<@Nullable Object>().iterator();
    return Generator.of(
        render, elements, element -> test.apply(render, key.of(element), rest) == wanted ? element : Generator.SKIP);
  }
}
