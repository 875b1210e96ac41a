package io.kvasir.prompt.template;

import java.util.AbstractList;
import java.util.Objects;
import java.util.RandomAccess;

/** Python's range; at most {@link #MAX} long, as Jinja2's sandbox has it. */
final class Range extends AbstractList<Object> implements RandomAccess {
  private static final int MAX = 100_000;

  private final long start;
  private final long stop;
  private final long step;
  private final int size;

  private Range(long start, long stop, long step, int size) {
    this.start = start;
    this.stop = stop;
    this.step = step;
    this.size = size;
  }

  static Range of(long start, long stop, long step) {
    if (step == 0) {
      throw new TemplateException.Evaluation("range() arg 3 must not be zero");
    }
    double distance = step > 0 ? (double) stop - start : (double) start - stop;
    double size = distance <= 0 ? 0 : Math.ceil(distance / Math.abs((double) step));
    if (size > MAX) {
      throw new TemplateException.Evaluation("range too big: at most " + MAX + " numbers are allowed");
    }
    return new Range(start, stop, step, (int) size);
  }

  @Override
  public Object get(int index) {
    return start + step * Objects.checkIndex(index, size);
  }

  @Override
  public int size() {
    return size;
  }

  @Override
  public String toString() {
    return "range(" + start + ", " + stop + (step == 1 ? "" : ", " + step) + ")";
  }
}
