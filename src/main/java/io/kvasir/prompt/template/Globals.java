package io.kvasir.prompt.template;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The functions that every template can call. */
final class Globals {
  private static final Map<String, Callable> FUNCTIONS = Map.of(
      "range", Globals::range,
      "dict", Globals::dict,
      "namespace", Globals::namespace,
      "cycler", (render, arguments) -> new Cycler(arguments.positional()),
      "joiner", (render, arguments) -> new Joiner(arguments.bind("joiner", List.of("sep")).text(0, ", ")),
      "raise_exception", (render, arguments) -> {
        throw new TemplateException.Raised(
            Values.str(render, arguments.bind("raise_exception", List.of("message")).get(0)));
      },
      "strftime_now", (render, arguments) -> {
        String format = arguments.bind("strftime_now", List.of("format")).text(0);
        // Two characters of it become thirty at most.
        render.reserve(15L * format.length());
        render.steps(format.length());
        return Strftime.format(render.now(), format);
      });

  private Globals() {}

  static @Nullable Callable find(String name) {
    return FUNCTIONS.get(name);
  }

  static Set<String> names() {
    return FUNCTIONS.keySet();
  }

  private static Object range(RenderContext render, Arguments arguments) {
    return switch (arguments.bind("range", List.of("start", "stop", "step")).has(1) ? arguments.size() : 1) {
      case 1 -> Range.of(0, arguments.integer(0, 0), 1);
      case 2 -> Range.of(arguments.integer(0, 0), arguments.integer(1, 0), 1);
      default -> Range.of(arguments.integer(0, 0), arguments.integer(1, 0), arguments.integer(2, 1));
    };
  }

  /** {@code dict(map_or_pairs, **more)}. */
  static Map<@Nullable Object, @Nullable Object> dict(RenderContext render, Arguments arguments) {
    Map<@Nullable Object, @Nullable Object> dict = new LinkedHashMap<>();
    if (arguments.has(0)) {
      if (arguments.get(0) instanceof Map<?, ?> map) {
        render.elements(2L * map.size());
        dict.putAll(map);
      } else {
        for (Object pair : Values.list(render, arguments.get(0))) {
          List<@Nullable Object> both = Values.list(render, pair);
          if (both.size() != 2) {
            throw new TemplateException.Evaluation("dict() takes pairs, not " + both.size() + " elements");
          }
          Values.put(render, dict, both.get(0), both.get(1));
        }
      }
    }
    render.elements(2L * arguments.keywords().size());
    dict.putAll(arguments.keywords());
    return dict;
  }

  private static Object namespace(RenderContext render, Arguments arguments) {
    Namespace namespace = new Namespace();
    for (Map.Entry<?, ?> entry : dict(render, arguments).entrySet()) {
      namespace.set(Values.str(render, entry.getKey()), entry.getValue());
    }
    return namespace;
  }

  /** {@code cycler(…)}: returns its items in turn. */
  static final class Cycler {
    private final @Nullable Object[] items;
    private int position;

    private Cycler(@Nullable Object[] items) {
      if (items.length == 0) {
        throw new TemplateException.Evaluation("at least one item has to be provided");
      }
      this.items = items;
    }

    @Nullable Object attribute(String name) {
      return switch (name) {
        case "current" -> items[position];
        case "next" -> (Callable) (render, arguments) -> {
          Object item = items[position];
          position = (position + 1) % items.length;
          return item;
        };
        case "reset" -> (Callable) (render, arguments) -> {
          position = 0;
          return null;
        };
        default -> Undefined.member(this, name);
      };
    }
  }

  /** {@code joiner(separator)}: empty at its first call, the separator afterwards. */
  private static final class Joiner implements Callable {
    private final String separator;
    private boolean used;

    Joiner(String separator) {
      this.separator = separator;
    }

    @Override
    public Object call(RenderContext render, Arguments arguments) {
      boolean first = !used;
      used = true;
      return first ? "" : separator;
    }
  }
}
