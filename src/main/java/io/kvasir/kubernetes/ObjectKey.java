package io.kvasir.kubernetes;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Comparator;

/** The name of an object within its resource. Ordered by namespace, then name. */
public record ObjectKey(String namespace, String name) implements Comparable<ObjectKey> {
  private static final Comparator<ObjectKey> ORDER =
      Comparator.comparing(ObjectKey::namespace).thenComparing(ObjectKey::name);

  /** The key of an object as the API has it. */
  public static ObjectKey of(JsonNode object) {
    return new ObjectKey(object.at("/metadata/namespace").asText(""), object.at("/metadata/name").asText(""));
  }

  @Override
  public int compareTo(ObjectKey other) {
    return ORDER.compare(this, other);
  }

  /** {@code namespace/name}. */
  @Override
  public String toString() {
    return namespace + "/" + name;
  }
}
