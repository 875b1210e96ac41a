package io.kvasir.prompt.template;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The lookup of {@code value.name}. Python tries a method before an entry, so {@code schema.items} is a dict's method
 * and {@code schema['items']} its entry; the sandbox hides every method that would change a value.
 */
final class Attributes {
  private static final Set<String> CHANGES_DICT = Set.of("clear", "pop", "popitem", "setdefault", "update");
  private static final Set<String> CHANGES_LIST =
      Set.of("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort");
  private static final Set<String> DICT = Set.of("copy", "get", "items", "keys", "values");
  private static final Set<String> BYTES = Set.of("decode", "hex");
  private static final Set<String> LIST = Set.of("copy", "count", "index");

  private Attributes() {}

  /** {@code value.name}: a method, else an attribute, else an entry, else undefined. */
  static @Nullable Object get(RenderContext render, @Nullable Object value, String name) {
    if (value instanceof Map<?, ?> map && !isMethod(map, name)) {
      render.steps(map.size() >> 5);
      Object entry = map.get(name);
      return entry != null || map.containsKey(name) ? entry : Undefined.member(map, name);
    }
    return own(value, name);
  }

  /** A method or attribute of the value itself, not an entry. */
  static @Nullable Object own(@Nullable Object value, String name) {
    return switch (value) {
      case null -> Undefined.member(null, name);
      case Undefined u -> throw u.refused();
      case Namespace n -> n.get(name);
      case Loop loop -> loop.attribute(name);
      case Macro macro -> macro.attribute(name);
      case Globals.Cycler cycler -> cycler.attribute(name);
      case Tuple t when t.named(name) >= 0 -> t.get(t.named(name));
      default -> isMethod(value, name) ? method(value, name) : Undefined.member(value, name);
    };
  }

  private static boolean isMethod(Object value, String name) {
    return switch (value) {
      case String s -> StringMethods.NAMES.contains(name);
      case Markup m -> StringMethods.NAMES.contains(name);
      case Map<?, ?> m -> DICT.contains(name) || CHANGES_DICT.contains(name);
      case Bytes b -> BYTES.contains(name);
      case Tuple t -> name.equals("count") || name.equals("index");
      case List<?> l -> LIST.contains(name) || (!(l instanceof Range) && CHANGES_LIST.contains(name));
      case Double d -> name.equals("is_integer");
      default -> false;
    };
  }

  private static Object method(Object value, String name) {
    if (value instanceof Map<?, ?> ? CHANGES_DICT.contains(name) : value instanceof List<?>
        && CHANGES_LIST.contains(name)) {
      return Undefined.because("'" + name + "' would change a " + Values.typeName(value)
          + ", which a chat template may not do; build a new one instead");
    }
    return new Method(value, name);
  }

  /** {@code value.name(…)}. */
  static @Nullable Object call(RenderContext render, @Nullable Object value, String name, Arguments arguments) {
    if (value instanceof String s && StringMethods.NAMES.contains(name)) {
      return StringMethods.call(render, s, name, arguments);
    }
    Object callee = get(render, value, name);
    return callee instanceof Method method ? method.call(render, arguments) : Expr.call(render, callee, arguments);
  }

  /** A method bound to its value. */
  record Method(Object self, String name) implements Callable {
    @Override
    public @Nullable Object call(RenderContext render, Arguments arguments) {
      return switch (self) {
        case String s -> StringMethods.call(render, s, name, arguments);
        case Markup m -> StringMethods.callMarkup(render, m, name, arguments);
        case Map<?, ?> map -> dict(render, map, arguments);
        case Bytes bytes when name.equals("hex") -> bytes.hex(render);
        case Bytes bytes -> {
          Arguments bound = arguments.bind("decode", List.of("encoding", "errors"));
          yield bytes.decode(render, bound.text(0, "utf-8"), bound.text(1, "strict"));
        }
        case List<?> list -> list(render, list, arguments);
        default -> {
          double d = Numbers.real(self);
          yield d == Math.rint(d) && !Double.isInfinite(d);
        }
      };
    }

    private @Nullable Object dict(RenderContext render, Map<?, ?> map, Arguments arguments) {
      return switch (name) {
        case "get" -> {
          Arguments bound = arguments.bind("get", List.of("key", "default"));
          Object key = Values.key(render, bound.get(0), map);
          Object found = map.get(key);
          yield found != null || map.containsKey(key) ? found : bound.get(1, null);
        }
        case "items" -> new DictView(DictView.Kind.ITEMS, map);
        case "keys" -> new DictView(DictView.Kind.KEYS, map);
        case "values" -> new DictView(DictView.Kind.VALUES, map);
        default -> Globals.dict(render, Arguments.of(map));
      };
    }

    private Object list(RenderContext render, List<?> list, Arguments arguments) {
      if (name.equals("copy")) {
        return Values.list(render, list);
      }
      Object wanted = arguments.get(0);
      long count = 0;
      for (int i = 0; i < list.size(); i++) {
        render.step();
        if (Values.equal(render, list.get(i), wanted)) {
          if (name.equals("index")) {
            return (long) i;
          }
          count++;
        }
      }
      if (name.equals("index")) {
        throw new TemplateException.Evaluation("the " + Values.typeName(wanted) + " is not in the list");
      }
      return count;
    }

    @Override
    public String toString() {
      return "<built-in method " + name + " of " + Values.typeName(self) + " object>";
    }
  }
}
