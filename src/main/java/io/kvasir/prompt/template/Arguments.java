package io.kvasir.prompt.template;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of one call. In the source they are positional and by keyword; {@link #bind} puts them in the order of
 * a function's parameters, which the typed getters read.
 */
@SuppressWarnings("ReferenceEquality") // MISSING is told from every value by identity.
final class Arguments {
  static final Arguments NONE = new Arguments(new Object[0], Map.of());

  /** The value of a parameter without an argument; not null, which is Python's None. */
  private static final Object MISSING = new Object();

  private final @Nullable Object[] positional;
  private final Map<String, @Nullable Object> keywords;

  Arguments(@Nullable Object[] positional, Map<String, @Nullable Object> keywords) {
    this.positional = positional;
    this.keywords = keywords;
  }

  static Arguments of(@Nullable Object... positional) {
    return new Arguments(positional, Map.of());
  }

  int size() {
    return positional.length;
  }

  @Nullable Object[] positional() {
    return positional;
  }

  Map<String, @Nullable Object> keywords() {
    return keywords;
  }

  /** The positional arguments after the first {@code count}, with the same keywords. */
  Arguments after(int count) {
    return new Arguments(Arrays.copyOfRange(positional, Math.min(count, positional.length), positional.length),
        keywords);
  }

  /** With one more keyword. */
  Arguments with(RenderContext render, String keyword, Object value) {
    render.elements(2L * keywords.size());
    Map<String, @Nullable Object> more = new LinkedHashMap<>(keywords);
    more.put(keyword, value);
    return new Arguments(positional, more);
  }

  /**
   * Arguments in the order of {@code parameters}; what was not given is absent.
   *
   * @throws TemplateException.Evaluation on an argument too many, or a keyword unknown or given twice
   */
  Arguments bind(String function, List<String> parameters) {
    if (keywords.isEmpty() && positional.length == parameters.size()) {
      return this;
    }
    if (positional.length > parameters.size()) {
      throw new TemplateException.Evaluation(
          function + "() takes at most " + parameters.size() + " arguments, not " + positional.length);
    }
    @Nullable Object[] bound = Arrays.copyOf(positional, parameters.size());
    Arrays.fill(bound, positional.length, bound.length, MISSING);
    for (Map.Entry<String, @Nullable Object> keyword : keywords.entrySet()) {
      int i = parameters.indexOf(keyword.getKey());
      if (i < 0) {
        throw new TemplateException.Evaluation(
            function + "() got an unexpected keyword argument '" + keyword.getKey() + "'");
      }
      if (bound[i] != MISSING) {
        throw new TemplateException.Evaluation(
            function + "() got multiple values for argument '" + keyword.getKey() + "'");
      }
      bound[i] = keyword.getValue();
    }
    return new Arguments(bound, Map.of());
  }

  boolean has(int i) {
    return i < positional.length && positional[i] != MISSING;
  }

  /** The argument at {@code i}, which must be there. */
  @Nullable Object get(int i) {
    if (!has(i)) {
      throw new TemplateException.Evaluation("argument " + (i + 1) + " is missing");
    }
    return positional[i];
  }

  @Nullable Object get(int i, @Nullable Object otherwise) {
    return has(i) ? positional[i] : otherwise;
  }

  /** True if there and not None. */
  boolean given(int i) {
    return has(i) && positional[i] != null;
  }

  boolean flag(int i, boolean otherwise) {
    return has(i) ? Values.truth(positional[i]) : otherwise;
  }

  long integer(int i, long otherwise) {
    return has(i) ? Numbers.integer(positional[i]) : otherwise;
  }

  /** A text; anything else is refused. */
  String text(int i) {
    String text = Values.text(get(i));
    if (text == null) {
      throw new TemplateException.Evaluation(
          "argument " + (i + 1) + " must be str, not " + Values.typeName(get(i)));
    }
    return text;
  }

  String text(int i, String otherwise) {
    return has(i) ? text(i) : otherwise;
  }
}
