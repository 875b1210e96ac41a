package io.kvasir.prompt.template;

import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.RandomAccess;
import org.jspecify.annotations.Nullable;

/**
 * A list that was made by adding to another. The first to add to a list adds in place, behind its end, so templates
 * that collect a list element by element take time in proportion to its length. Not thread-safe.
 */
final class Appended extends AbstractList<@Nullable Object> implements RandomAccess {
  /** The elements of this list, and behind them those that longer ones have. */
  private final List<@Nullable Object> shared;
  private final int size;

  private Appended(List<@Nullable Object> shared) {
    this.shared = shared;
    this.size = shared.size();
  }

  /** {@code list + more}. */
  static Appended of(RenderContext render, List<?> list, List<?> more) {
    render.elements(more.size() + 1L);
    if (list instanceof Appended appended && appended.size == appended.shared.size()) {
      // Copied first: it may be this very list.
      appended.shared.addAll(new ArrayList<>(more));
      return new Appended(appended.shared);
    }
    render.elements(list.size());
    List<@Nullable Object> shared = new ArrayList<>(list.size() + more.size());
    shared.addAll(list);
    shared.addAll(more);
    return new Appended(shared);
  }

  @Override
  public @Nullable Object get(int index) {
    return shared.get(Objects.checkIndex(index, size));
  }

  @Override
  public int size() {
    return size;
  }
}
