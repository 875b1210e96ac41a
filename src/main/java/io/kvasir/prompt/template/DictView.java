package io.kvasir.prompt.template;

import java.util.AbstractCollection;
import java.util.Iterator;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The result of {@code keys()}, {@code values()} and {@code items()}: iterable and sized, but without an index. */
final class DictView extends AbstractCollection<@Nullable Object> {
  /** The kind of view, with its name in Python. */
  enum Kind {
    KEYS("dict_keys"),
    VALUES("dict_values"),
    ITEMS("dict_items");

    final String typeName;

    Kind(String typeName) {
      this.typeName = typeName;
    }
  }

  private final Kind kind;
  private final Map<?, ?> map;

  DictView(Kind kind, Map<?, ?> map) {
    this.kind = kind;
    this.map = map;
  }

  Kind kind() {
    return kind;
  }

  @Override
  public Iterator<@Nullable Object> iterator() {
    return switch (kind) {
      case KEYS -> Values.view(map.keySet()).iterator();
      case VALUES -> Values.view(map.values()).iterator();
      case ITEMS -> new Iterator<>() {
        private final Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator();

        @Override
        public boolean hasNext() {
          return entries.hasNext();
        }

        @Override
        public Object next() {
          Map.Entry<?, ?> entry = entries.next();
          return Tuple.of(entry.getKey(), entry.getValue());
        }
      };
    };
  }

  @Override
  public int size() {
    return map.size();
  }
}
