package io.kvasir.prompt.template;

import java.util.AbstractList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Objects;
import java.util.RandomAccess;
import org.jspecify.annotations.Nullable;

/** Python's tuple. A group of {@code groupby} is one whose parts also have names. */
final class Tuple extends AbstractList<@Nullable Object> implements RandomAccess {
  private final @Nullable Object[] parts;
  private final boolean group;

  private Tuple(@Nullable Object[] parts, boolean group) {
    this.parts = parts;
    this.group = group;
  }

  static Tuple of(@Nullable Object... parts) {
    return new Tuple(parts, false);
  }

  static Tuple copyOf(Collection<? extends @Nullable Object> parts) {
    return new Tuple(parts.toArray(), false);
  }

  /** {@code (grouper, list)}. */
  static Tuple group(@Nullable Object grouper, Object members) {
    return new Tuple(new @Nullable Object[] {grouper, members}, true);
  }

  /** A part's position by its name, or -1. */
  int named(String name) {
    return !group ? -1 : Arrays.asList("grouper", "list").indexOf(name);
  }

  /** As Python compares dict keys: numbers of any type by their value. */
  @Override
  public boolean equals(@Nullable Object other) {
    if (!(other instanceof Tuple tuple) || tuple.parts.length != parts.length) {
      return false;
    }
    for (int i = 0; i < parts.length; i++) {
      if (!Objects.equals(Numbers.canonical(parts[i]), Numbers.canonical(tuple.parts[i]))) {
        return false;
      }
    }
    return true;
  }

  @Override
  public int hashCode() {
    int hash = 1;
    for (Object part : parts) {
      hash = 31 * hash + Objects.hashCode(Numbers.canonical(part));
    }
    return hash;
  }

  @Override
  public @Nullable Object get(int index) {
    return parts[index];
  }

  @Override
  public int size() {
    return parts.length;
  }
}
