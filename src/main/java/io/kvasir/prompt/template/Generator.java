package io.kvasir.prompt.template;

import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/**
 * Python's generator, as {@code map}, {@code select} and their kin return it: read once, lazily, always true,
 * without length or index.
 */
final class Generator {
  private final Iterator<@Nullable Object> elements;

  Generator(Iterator<@Nullable Object> elements) {
    this.elements = elements;
  }

  /** The remaining elements; not a fresh iteration. */
  Iterator<@Nullable Object> rest() {
    return elements;
  }

  @Override
  public String toString() {
    return "<generator object>";
  }
}
