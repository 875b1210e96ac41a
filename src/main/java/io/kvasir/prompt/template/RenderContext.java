package io.kvasir.prompt.template;

import java.time.LocalDateTime;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The state of one rendering: its variables, its current output, and what is left of its {@link RenderLimits}. */
final class RenderContext {
  private final Map<String, ?> variables;
  private final Supplier<LocalDateTime> now;
  private final RenderLimits limits;
  private StringBuilder out;
  private long steps;
  private long chars;
  private int depth;

  RenderContext(Map<String, ?> variables, Supplier<LocalDateTime> now, RenderLimits limits, StringBuilder out) {
    this.variables = variables;
    this.now = now;
    this.limits = limits;
    this.out = out;
  }

  /** A variable of the request, else a global of the language, else undefined. */
  @Nullable Object global(String name) {
    Object value = variables.get(name);
    if (value != null || variables.containsKey(name)) {
      return value;
    }
    Callable function = Globals.find(name);
    return function == null ? Undefined.variable(name) : function;
  }

  LocalDateTime now() {
    return now.get();
  }

  void step() {
    steps(1);
  }

  void steps(long count) {
    steps += count;
    if (steps > limits.steps()) {
      throw new TemplateException.Limit("the chat template takes more than " + limits.steps() + " steps");
    }
  }

  /** Counts reading {@code count} characters. */
  void countRead(long count) {
    steps(1 + (count >> 6));
  }

  /** Counts {@code count} characters about to be made; call it before making many. */
  void reserve(long count) {
    check(count);
    chars += count;
    countRead(count);
  }

  /** Refuses a text of {@code count} characters that would be over the limit. */
  void check(long count) {
    if (count < 0 || chars + count > limits.chars()) {
      throw new TemplateException.Limit(
          "the chat template makes more than " + limits.chars() + " characters of text");
    }
  }

  String checkProduced(String text) {
    reserve(text.length());
    return text;
  }

  /** Counts an element put into a list. */
  void element() {
    step();
    chars += 8;
    check(0);
  }

  void write(@Nullable Object value) {
    if (value instanceof Undefined) {
      return;
    }
    String text = Values.str(this, value);
    reserve(text.length());
    out.append(text);
  }

  /** The output of {@code body}, captured. */
  String capture(Runnable body) {
    StringBuilder outer = out;
    StringBuilder inner = new StringBuilder();
    out = inner;
    try {
      body.run();
    } finally {
      out = outer;
    }
    return inner.toString();
  }

  /** Enters a macro or a recursive loop; {@link #leave} must follow. */
  void enter() {
    if (++depth > limits.depth()) {
      throw new TemplateException.Limit("the chat template calls itself more than " + limits.depth() + " deep");
    }
  }

  void leave() {
    depth--;
  }
}
