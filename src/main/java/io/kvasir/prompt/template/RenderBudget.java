package io.kvasir.prompt.template;

import io.kvasir.time.NanoClock;
import java.util.concurrent.TimeUnit;

/**
 * What is left of the {@link RenderLimits}. Every operation charges its work and the text it makes before it does it.
 * Not thread-safe.
 */
public final class RenderBudget {
  /** What an element of a list costs in characters: it is a reference, and mostly to an object of its own. */
  static final int ELEMENT = 16;

  private static final int STEPS_BETWEEN_READINGS = 1024;
  /**
   * The longest time between two readings of the clock that counts. So many steps take less; what is beyond is a pause
   * of the process, which is not the template's fault.
   */
  private static final long LONGEST_INTERVAL = TimeUnit.MILLISECONDS.toNanos(10);

  private final RenderLimits limits;
  private final NanoClock clock;
  private final long nanos;
  private long steps;
  private long nextReading;
  private long lastReading;
  private long elapsed;
  private long chars;
  private int depth;

  /** All that these limits allow, by a clock that begins with it. */
  public RenderBudget(RenderLimits limits, NanoClock clock) {
    this.limits = limits;
    this.clock = clock;
    this.nanos = limits.time().toNanos();
    this.nextReading = Math.min(STEPS_BETWEEN_READINGS, limits.steps() + 1);
    this.lastReading = clock.nanos();
  }

  RenderLimits limits() {
    return limits;
  }

  /** Steps charged so far. */
  long steps() {
    return steps;
  }

  /** Characters charged so far. */
  long chars() {
    return chars;
  }

  void step() {
    if (++steps >= nextReading) {
      check();
    }
  }

  void steps(long count) {
    steps += count;
    if (steps >= nextReading) {
      check();
    }
  }

  private void check() {
    if (steps > limits.steps()) {
      throw new TemplateException.Limit("the chat template takes more than " + limits.steps() + " steps");
    }
    long now = clock.nanos();
    elapsed += Math.min(now - lastReading, LONGEST_INTERVAL);
    lastReading = now;
    if (elapsed > nanos) {
      throw new TemplateException.Limit("the chat template takes more than " + limits.time().toMillis() + " ms");
    }
    nextReading = Math.min(steps + STEPS_BETWEEN_READINGS, limits.steps() + 1);
  }

  /** Charges reading {@code count} characters. */
  void read(long count) {
    steps(1 + (count >> 6));
  }

  /** Charges {@code count} characters about to be made. */
  void reserve(long count) {
    if (count < 0 || count > limits.chars() - chars) {
      throw tooLong();
    }
    chars += count;
    read(count);
  }

  /** Refuses a text of {@code count} characters that there is no room for, though it is not made yet. */
  void requireRoom(long count) {
    if (count > limits.chars() - chars || count > Integer.MAX_VALUE - 8) {
      throw tooLong();
    }
  }

  private TemplateException.Limit tooLong() {
    return new TemplateException.Limit("the chat template makes more than " + limits.chars() + " characters of text");
  }

  /** Charges {@code count} elements about to be put into a list. */
  void elements(long count) {
    reserve(count > Long.MAX_VALUE / ELEMENT ? Long.MAX_VALUE : count * ELEMENT);
    steps(count >> 3);
  }

  /** Enters an expression, a statement, a call or a value, which is a step; {@link #leave} follows unless it throws. */
  void enter() {
    if (++depth > limits.depth()) {
      throw new TemplateException.Limit(
          "the chat template nests values or calls more than " + limits.depth() + " deep");
    }
    step();
  }

  void leave() {
    depth--;
  }
}
