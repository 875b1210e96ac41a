package io.kvasir.prompt.template;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A long text that was put together from others, which are copied only when it is read as a whole. So templates that
 * collect their output in a variable, text by text, take time in proportion to its length, not to its square. Only
 * variables and attributes of namespaces have ropes as their values; what reads these gets a string. Not thread-safe.
 */
final class Rope {
  /** Shorter texts are copied. */
  static final int SHORTEST = 1024;
  /** A shorter text at the end is gathered with what is put after it. */
  private static final int SHARED = 256;

  /** Each a string or a rope. */
  private @Nullable Object left;
  private @Nullable Object right;
  private final long length;
  private final long pieces;
  private @Nullable String whole;

  private Rope(RenderBudget budget, Object left, Object right) {
    this.left = left;
    this.right = right;
    this.length = length(left) + length(right);
    this.pieces = pieces(left) + pieces(right);
    budget.elements(1);
    budget.requireRoom(length);
  }

  /** Two texts, each a string or a rope, as one. */
  static Object of(RenderBudget budget, Object left, Object right) {
    long length = length(left) + length(right);
    if (length(left) == 0 || length(right) == 0) {
      return length(left) == 0 ? right : left;
    }
    if (length < SHORTEST && left instanceof String a && right instanceof String b) {
      budget.reserve(length);
      return a.concat(b);
    }
    if (left instanceof Rope rope && rope.right instanceof String end && rope.left != null
        && right instanceof String more && end.length() + more.length() < SHARED) {
      budget.reserve(end.length() + more.length());
      return new Rope(budget, rope.left, end.concat(more));
    }
    return new Rope(budget, left, right);
  }

  /** Whether a value is a text that can be a part of a rope. */
  static boolean isText(@Nullable Object value) {
    return value instanceof String || value instanceof Rope;
  }

  /** A value for those who know no ropes. */
  static @Nullable Object whole(RenderBudget budget, @Nullable Object value) {
    return value instanceof Rope rope ? rope.whole(budget) : value;
  }

  /** The text in one; copied once. */
  String whole(RenderBudget budget) {
    String text = whole;
    if (text == null) {
      budget.reserve(length);
      StringBuilder out = new StringBuilder((int) length);
      pieces(budget, out::append);
      text = out.toString();
      whole = text;
      left = null;
      right = null;
    }
    return text;
  }

  /** Hands over the texts that this one is made of, in order. */
  void pieces(RenderBudget budget, Consumer<String> to) {
    budget.steps(pieces);
    Deque<Object> open = new ArrayDeque<>();
    open.push(this);
    while (!open.isEmpty()) {
      switch (open.pop()) {
        case Rope rope when rope.left != null && rope.right != null -> {
          open.push(rope.right);
          open.push(rope.left);
        }
        case Rope rope -> to.accept(rope.whole(budget));
        case Object text -> to.accept((String) text);
      }
    }
  }

  /** The length of a string or a rope. */
  static long length(Object text) {
    return text instanceof Rope rope ? rope.length : ((String) text).length();
  }

  private static long pieces(Object text) {
    return text instanceof Rope rope && rope.whole == null ? rope.pieces : 1;
  }
}
