package io.kvasir.prompt.template;

import java.time.LocalDateTime;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The state of one rendering: its variables, its current output, and its {@link RenderBudget}. */
final class RenderContext {
  private final Map<String, ?> variables;
  private final Supplier<LocalDateTime> now;
  private final RenderBudget budget;
  private StringBuilder out;

  RenderContext(Map<String, ?> variables, Supplier<LocalDateTime> now, RenderBudget budget, StringBuilder out) {
    this.variables = variables;
    this.now = now;
    this.budget = budget;
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

  RenderBudget budget() {
    return budget;
  }

  LocalDateTime now() {
    return now.get();
  }

  void step() {
    budget.step();
  }

  void steps(long count) {
    budget.steps(count);
  }

  /** Charges reading {@code count} characters. */
  void read(long count) {
    budget.read(count);
  }

  /** Charges {@code count} characters about to be made. */
  void reserve(long count) {
    budget.reserve(count);
  }

  /** A text made from one of {@code reserved} characters, which are charged already: charges what it has more. */
  String made(String text, int reserved) {
    if (text.length() > reserved) {
      reserve(text.length() - reserved);
    }
    return text;
  }

  /** Charges an element about to be put into a list. */
  void element() {
    budget.reserve(RenderBudget.ELEMENT);
  }

  /** Charges {@code count} elements about to be put into a list. */
  void elements(long count) {
    budget.elements(count);
  }

  /** Enters an expression, a statement, a call or a value; {@link #leave} follows unless it throws. */
  void enter() {
    budget.enter();
  }

  void leave() {
    budget.leave();
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
    body.run();
    out = outer;
    reserve(inner.length());
    return inner.toString();
  }
}
