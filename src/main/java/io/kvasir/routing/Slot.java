package io.kvasir.routing;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A typed key of the {@link RoutingContext}, the only thing plugins talk through. A plugin declares the
 * slots it reads and writes, and the {@link ProfileCompiler} proves that each read has one earlier writer.
 *
 * <p>Slots are constants: one static field per slot, compared by identity. Each has a place of its own in
 * the context's arrays, so reading one is an array access. A {@link #number} slot keeps its value as a
 * primitive. (Not to be confused with a worker's slot, its bit position in a cell.)
 *
 * @param <T> what it holds
 */
public final class Slot<T> {
  private static final Set<String> NAMES = ConcurrentHashMap.newKeySet();
  private static final AtomicInteger COUNT = new AtomicInteger();

  final int index;
  private final String name;
  private final Class<T> type;

  private Slot(String name, Class<T> type) {
    if (!NAMES.add(name)) {
      throw new IllegalArgumentException("there is a slot named \"" + name + "\" already; share its constant");
    }
    this.index = COUNT.getAndIncrement();
    this.name = name;
    this.type = type;
  }

  /**
   * A new slot.
   *
   * @param name unique in the process, as fault reports show it
   * @param type what it holds
   */
  public static <T> Slot<T> of(String name, Class<T> type) {
    return new Slot<>(name, type);
  }

  /** A new slot for a whole number, kept unboxed. */
  public static Slot<Long> number(String name) {
    return new Slot<>(name, Long.class);
  }

  /** How many slots there are so far: the length of a context's arrays. */
  static int count() {
    return COUNT.get();
  }

  /** Its name in fault reports. */
  public String name() {
    return name;
  }

  boolean isNumber() {
    return type == Long.class;
  }

  T cast(Object value) {
    return type.cast(value);
  }

  @Override
  public String toString() {
    return name;
  }
}
