package io.kvasir.http;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * HTTP header fields in the order they came, names in their own case and compared without it.
 * Immutable.
 */
public final class Headers {
  /** No fields. */
  public static final Headers EMPTY = new Headers(new String[0]);

  /** Name, value, name, value … */
  private final String[] fields;

  private Headers(String[] fields) {
    this.fields = fields;
  }

  /** Fields given as name, value, name, value … */
  public static Headers of(String... namesAndValues) {
    if (namesAndValues.length % 2 != 0) {
      throw new IllegalArgumentException("a header name without a value: " + List.of(namesAndValues));
    }
    return new Headers(namesAndValues.clone());
  }

  /** Builds a list, field by field. */
  public static Builder builder() {
    return new Builder(16);
  }

  /** A builder that begins with these fields. */
  public Builder toBuilder() {
    Builder builder = new Builder(fields.length + 8);
    builder.fields.addAll(Arrays.asList(fields));
    return builder;
  }

  /** How many fields there are. */
  public int size() {
    return fields.length / 2;
  }

  /** Name of the field at {@code index}, 0..size - 1, as it came. */
  public String name(int index) {
    return fields[2 * index];
  }

  /** Value of the field at {@code index}, 0..size - 1, without the blanks around it. */
  public String value(int index) {
    return fields[2 * index + 1];
  }

  /** Value of the first field of that name, null when there is none. */
  public @Nullable String first(String name) {
    for (int i = 0; i < fields.length; i += 2) {
      if (fields[i].equalsIgnoreCase(name)) {
        return fields[i + 1];
      }
    }
    return null;
  }

  /** Value of the only field of that name, null when there is none, or several. */
  public @Nullable String only(String name) {
    String found = null;
    for (int i = 0; i < fields.length; i += 2) {
      if (fields[i].equalsIgnoreCase(name)) {
        if (found != null) {
          return null;
        }
        found = fields[i + 1];
      }
    }
    return found;
  }

  /** Whether a field of that name is there. */
  public boolean has(String name) {
    return first(name) != null;
  }

  /** Whether a field of that name has {@code token} in its comma-separated list, both without regard to case. */
  public boolean hasToken(String name, String token) {
    for (int i = 0; i < fields.length; i += 2) {
      if (fields[i].equalsIgnoreCase(name) && listHas(fields[i + 1], token)) {
        return true;
      }
    }
    return false;
  }

  private static boolean listHas(String list, String token) {
    int from = 0;
    while (from <= list.length()) {
      int comma = list.indexOf(',', from);
      int end = comma < 0 ? list.length() : comma;
      if (list.substring(from, end).strip().equalsIgnoreCase(token)) {
        return true;
      }
      from = end + 1;
    }
    return false;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < fields.length; i += 2) {
      text.append(fields[i]).append(": ").append(fields[i + 1]).append('\n');
    }
    return text.toString();
  }

  /** Gathers fields. Not thread-safe. */
  public static final class Builder {
    private final ArrayList<String> fields;

    private Builder(int capacity) {
      this.fields = new ArrayList<>(capacity);
    }

    /** Appends a field. */
    public Builder add(String name, String value) {
      fields.add(name);
      fields.add(value);
      return this;
    }

    /** Removes every field of that name. */
    public Builder remove(String name) {
      for (int i = fields.size() - 2; i >= 0; i -= 2) {
        if (fields.get(i).equalsIgnoreCase(name)) {
          fields.subList(i, i + 2).clear();
        }
      }
      return this;
    }

    /** Replaces every field of that name by one at the end. */
    public Builder set(String name, String value) {
      return remove(name).add(name, value);
    }

    /** The fields gathered so far. */
    public Headers build() {
      return new Headers(fields.toArray(String[]::new));
    }
  }
}
