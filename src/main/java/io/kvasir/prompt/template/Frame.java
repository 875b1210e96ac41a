package io.kvasir.prompt.template;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The variables of one scope. A scope reads those of enclosing scopes and writes only its own, so variables that a
 * loop's body sets end with the iteration. Names are interned and few, so a look-up is a handful of identity
 * comparisons.
 */
final class Frame {
  private static final String[] NO_NAMES = {};
  private static final Object[] NO_VALUES = {};
  /** Names that a step, which a look-up follows or precedes, pays for. */
  private static final int FREE_COMPARISONS = 32;

  private final RenderContext render;
  private final @Nullable Frame outer;
  private String[] names = NO_NAMES;
  private @Nullable Object[] values = NO_VALUES;
  private int size;

  Frame(RenderContext render) {
    this.render = render;
    this.outer = null;
  }

  Frame(Frame outer) {
    this.render = outer.render;
    this.outer = outer;
  }

  RenderContext render() {
    return render;
  }

  /** A scope with the variables that the template has outside of its loops and macros, as far as they are assigned. */
  Frame assignedAtTop() {
    Frame top = this;
    while (top.outer != null) {
      top = top.outer;
    }
    Frame assigned = new Frame(render);
    for (int i = 0; i < top.size; i++) {
      if (!(top.values[i] instanceof Undefined)) {
        assigned.set(top.names[i], top.values[i]);
      }
    }
    return assigned;
  }

  @SuppressWarnings("ReferenceEquality") // Names are interned by the lexer.
  @Nullable Object get(String name) {
    int compared = 0;
    for (Frame frame = this; frame != null; frame = frame.outer) {
      compared += frame.size;
      if (compared > FREE_COMPARISONS) {
        render.steps(compared >> 4);
        compared = 0;
      }
      for (int i = 0; i < frame.size; i++) {
        if (frame.names[i] == name) {
          return frame.values[i];
        }
      }
    }
    return render.global(name);
  }

  @SuppressWarnings("ReferenceEquality") // Names are interned by the lexer.
  void set(String name, @Nullable Object value) {
    if (size > FREE_COMPARISONS) {
      render.steps(size >> 4);
    }
    for (int i = 0; i < size; i++) {
      if (names[i] == name) {
        values[i] = value;
        return;
      }
    }
    if (size == names.length) {
      int grown = size + 4 + (size >> 1);
      names = Arrays.copyOf(names, grown);
      values = Arrays.copyOf(values, grown);
    }
    names[size] = name;
    values[size++] = value;
  }
}
