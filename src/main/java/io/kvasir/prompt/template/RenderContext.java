package io.kvasir.prompt.template;

import java.time.LocalDateTime;
import java.util.Map;
import java.util.Objects;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The state of one rendering: its variables, its current output, and its {@link RenderBudget}. */
final class RenderContext {
  private final Map<String, ?> variables;
  private final Supplier<LocalDateTime> now;
  private final RenderBudget budget;
  private RenderedText out;
  /** What is captured before {@link #out}, a string or a rope; null outside of captures. */
  private @Nullable Object captured;
  private boolean escapes;

  RenderContext(Map<String, ?> variables, Supplier<LocalDateTime> now, RenderBudget budget, RenderedText out) {
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

  /** Whether what is printed is HTML, in which texts that are not safe are escaped. */
  boolean escapes() {
    return escapes;
  }

  void escapes(boolean escapes) {
    this.escapes = escapes;
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

  /** Refuses a text of {@code count} characters that there is no room for. */
  void requireRoom(long count) {
    budget.requireRoom(count);
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
    if (value instanceof Rope rope && !escapes) {
      write(rope);
      return;
    }
    String text = Values.str(this, Rope.whole(budget, value));
    if (escapes && !(value instanceof Markup)) {
      text = Markup.escape(budget, text);
    }
    print(text);
  }

  private void write(Rope rope) {
    if (captured != null) {
      captured = Rope.of(budget, captured(), rope);
    } else {
      reserve(Rope.length(rope));
      rope.pieces(budget, out::append);
    }
  }

  /** Appends a text of the template itself. */
  void print(String text) {
    if (captured != null && text.length() >= Rope.SHORTEST) {
      captured = Rope.of(budget, captured(), text);
    } else {
      reserve(text.length());
      out.append(text);
    }
  }

  /** What is captured up to here. */
  private Object captured() {
    Object before = Objects.requireNonNull(captured);
    reserve(out.length());
    Object text = Rope.of(budget, before, out.toString());
    out = new RenderedText();
    return text;
  }

  /** The output of {@code body}, captured: a text, which may be a rope. */
  @Nullable Object capture(Runnable body) {
    RenderedText outerOut = out;
    Object outerCaptured = captured;
    out = new RenderedText();
    captured = "";
    body.run();
    Object text = captured();
    out = outerOut;
    captured = outerCaptured;
    return escapes ? new Markup((String) Objects.requireNonNull(Rope.whole(budget, text))) : text;
  }
}
