package io.kvasir.prompt.template;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The tests: what may follow {@code is}. */
final class Tests {
  /** One test. */
  @FunctionalInterface
  interface Test {
    boolean apply(RenderContext render, @Nullable Object value, Arguments arguments);
  }

  @FunctionalInterface
  private interface Plain {
    boolean apply(@Nullable Object value);
  }

  private static final Map<String, Test> TESTS = new HashMap<>();

  static {
    plain("defined", v -> !(v instanceof Undefined));
    plain("undefined", v -> v instanceof Undefined);
    plain("none", v -> v == null);
    plain("string", v -> Values.text(v) != null);
    plain("mapping", v -> v instanceof Map);
    plain("iterable", Values::isIterable);
    plain("sequence", v -> v instanceof List || v instanceof Map || v instanceof Undefined || Values.text(v) != null);
    plain("number", Numbers::is);
    plain("integer", v -> v instanceof Number && Numbers.isInteger(v));
    plain("float", v -> v instanceof Number && !Numbers.isInteger(v));
    plain("boolean", v -> v instanceof Boolean);
    plain("true", v -> v instanceof Boolean b && b);
    plain("false", v -> v instanceof Boolean b && !b);
    plain("callable", v -> v instanceof Callable || v instanceof Undefined);
    plain("escaped", v -> v instanceof Markup);
    TESTS.put("odd", (r, v, a) -> isDivisible(r, v, 2L, 1));
    TESTS.put("even", (r, v, a) -> isDivisible(r, v, 2L, 0));
    plain("filter", v -> v instanceof String name && Filters.find(name) != null);
    plain("test", v -> v instanceof String name && find(name) != null);
    TESTS.put("lower", (r, v, a) -> isCase(r, v, false));
    TESTS.put("upper", (r, v, a) -> isCase(r, v, true));
    TESTS.put("divisibleby", (r, v, a) -> isDivisible(r, v, a.bind("divisibleby", List.of("num")).get(0), 0));
    TESTS.put("sameas", (r, v, a) -> isSame(r, v, a.bind("sameas", List.of("other")).get(0)));
    TESTS.put("in", (r, v, a) -> Values.contains(r, a.bind("in", List.of("seq")).get(0), v));
    operator("==", "eq", "equalto");
    operator("!=", "ne");
    operator("<", "lt", "lessthan");
    operator("<=", "le");
    operator(">", "gt", "greaterthan");
    operator(">=", "ge");
  }

  private Tests() {}

  private static void plain(String name, Plain test) {
    TESTS.put(name, (render, value, arguments) -> {
      arguments.bind(name, List.of());
      return test.apply(value);
    });
  }

  private static void operator(String operator, String... names) {
    Test test = (render, value, arguments) ->
        Operators.compare(render, operator, value, arguments.bind(operator, List.of("other")).get(0));
    TESTS.put(operator, test);
    for (String name : names) {
      TESTS.put(name, test);
    }
  }

  private static boolean isDivisible(RenderContext render, @Nullable Object value, @Nullable Object by, long rest) {
    return Values.equal(render, Operators.apply(render, "%", value, by), rest);
  }

  private static boolean isCase(RenderContext render, @Nullable Object value, boolean upper) {
    String text = Values.str(render, value);
    render.read(text.length());
    return Text.isCase(text, upper);
  }

  @SuppressWarnings("ReferenceEquality") // Identity is what the test asks for.
  private static boolean isSame(RenderContext render, @Nullable Object a, @Nullable Object b) {
    render.read(a instanceof String text ? text.length() : 1);
    return a == b
        || (a != null && b != null && a.getClass() == b.getClass() && (a instanceof Boolean || a instanceof String
            || a instanceof Number) && a.equals(b));
  }

  static @Nullable Test find(String name) {
    return TESTS.get(name);
  }

  static Set<String> names() {
    return TESTS.keySet();
  }

  static TemplateException.Evaluation unknown(String name) {
    return new TemplateException.Evaluation("there is no test named '" + name + "'");
  }
}
