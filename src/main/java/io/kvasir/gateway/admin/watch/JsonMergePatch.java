package io.kvasir.gateway.admin.watch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** JSON merge patches (RFC 7396) of objects without null members. */
public final class JsonMergePatch {
  private JsonMergePatch() {}

  /** The patch that makes {@code after} of {@code before}; null when they are equal. Neither is changed. */
  static @Nullable ObjectNode between(ObjectNode before, ObjectNode after) {
    ObjectNode patch = null;
    int known = 0;
    for (Map.Entry<String, JsonNode> member : after.properties()) {
      JsonNode old = before.get(member.getKey());
      known += old == null ? 0 : 1;
      JsonNode change = change(old, member.getValue());
      if (change != null) {
        patch = patch == null ? JsonNodeFactory.instance.objectNode() : patch;
        patch.set(member.getKey(), change);
      }
    }
    if (known == before.size()) {
      return patch;
    }
    for (Map.Entry<String, JsonNode> member : before.properties()) {
      if (!after.has(member.getKey())) {
        patch = patch == null ? JsonNodeFactory.instance.objectNode() : patch;
        patch.putNull(member.getKey());
      }
    }
    return patch;
  }

  /** An object as a patch makes it. Neither is changed; what the patch leaves as it is, both have in common. */
  public static ObjectNode patched(ObjectNode before, ObjectNode patch) {
    ObjectNode after = JsonNodeFactory.instance.objectNode();
    after.setAll(before);
    for (Map.Entry<String, JsonNode> member : patch.properties()) {
      JsonNode change = member.getValue();
      if (change.isNull()) {
        after.remove(member.getKey());
      } else if (change instanceof ObjectNode inner) {
        after.set(
            member.getKey(),
            patched(
                before.get(member.getKey()) instanceof ObjectNode old ? old : JsonNodeFactory.instance.objectNode(),
                inner));
      } else {
        after.set(member.getKey(), change);
      }
    }
    return after;
  }

  @SuppressWarnings("ReferenceEquality") // a short cut: what has not been read anew has not changed
  private static @Nullable JsonNode change(@Nullable JsonNode before, JsonNode after) {
    if (before == after) {
      return null;
    }
    if (before instanceof ObjectNode old && after instanceof ObjectNode now) {
      return between(old, now);
    }
    return after.equals(before) ? null : after;
  }
}
