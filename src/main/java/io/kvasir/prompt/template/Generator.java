package io.kvasir.prompt.template;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Python's generator, as {@code map}, {@code select} and their kin return it: read once, lazily, always true,
 * without length or index.
 */
final class Generator {
  /** Not an element: see {@link #of}. */
  static final Object SKIP = new Object();

  private final Iterator<@Nullable Object> elements;

  Generator(Iterator<@Nullable Object> elements) {
    this.elements = elements;
  }

  /** Reads {@code source} lazily through {@code next}, which returns {@link #SKIP} to leave an element out. */
  @SuppressWarnings("ReferenceEquality") // SKIP is told from every element by identity.
  static Generator of(RenderContext render, Iterator<@Nullable Object> source,
      UnaryOperator<@Nullable Object> next) {
    return new Generator(new Iterator<>() {
      private @Nullable Object ready = SKIP;

      @Override
      public boolean hasNext() {
        render.enter();
        while (ready == SKIP && source.hasNext()) {
          render.step();
          ready = next.apply(source.next());
        }
        render.leave();
        return ready != SKIP;
      }

      @Override
      public @Nullable Object next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        Object element = ready;
        ready = SKIP;
        return element;
      }
    });
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
