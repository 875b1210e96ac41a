package io.kvasir.execution.dialect;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The members of one JSON object as the bytes they came in. Members can be set and removed; every other one keeps
 * its place, its escapes and its digits, known to the router or not. Only the blanks between members are lost, and of a
 * member that comes twice the last counts, as engines have it. Immutable.
 */
public final class JsonMembers {
  // Images are sent inside strings; the gateway limits the whole body.
  private static final JsonFactory FACTORY =
      JsonFactory.builder()
          .streamReadConstraints(StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).build())
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .build();
  private static final JsonMapper TREES = JsonMapper.builder(FACTORY).build();
  /** Keeps numbers as they are written. */
  private static final JsonMapper JSON =
      JsonMapper.builder(FACTORY)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build();

  private final Map<String, Member> members;

  private JsonMembers(Map<String, Member> members) {
    this.members = members;
  }

  /** A part of a document. */
  private record ByteRange(byte[] source, int from, int to) {
    static ByteRange of(String json) {
      byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
      return new ByteRange(bytes, 0, bytes.length);
    }

    void writeTo(ByteArrayOutputStream out) {
      out.write(source, from, to - from);
    }

    String text() {
      return new String(source, from, to - from, StandardCharsets.UTF_8);
    }
  }

  /** A name, quoted, and its value. */
  private record Member(ByteRange name, ByteRange value) {}

  /**
   * Reads an object.
   *
   * @throws IllegalArgumentException when {@code json} is not one JSON object in UTF-8
   */
  public static JsonMembers of(byte[] json) {
    JsonMembers read = tryOf(json);
    if (read == null) {
      throw new IllegalArgumentException("not a JSON object");
    }
    return read;
  }

  /** Reads an object; null when {@code json} is not one in UTF-8. */
  public static @Nullable JsonMembers tryOf(byte[] json) {
    if (!isUtf8(json)) {
      return null;
    }
    Map<String, Member> members = new LinkedHashMap<>();
    try (JsonParser parser = JSON.createParser(json)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return null;
      }
      JsonToken token = parser.nextToken();
      while (token == JsonToken.FIELD_NAME) {
        String name = parser.currentName();
        int nameFrom = offset(parser);
        parser.nextToken();
        int valueFrom = offset(parser);
        parser.skipChildren();
        token = parser.nextToken();
        int valueTo = endBefore(json, offset(parser));
        ByteRange quoted = new ByteRange(json, nameFrom, endOfName(json, valueFrom));
        members.put(name, new Member(quoted, new ByteRange(json, valueFrom, valueTo)));
      }
      return token == JsonToken.END_OBJECT ? new JsonMembers(members) : null;
    } catch (IOException e) {
      return null;
    }
  }

  /** JSON in UTF-16 or UTF-32, which parsers accept, begins with a zero byte, has one after it, or has a mark. */
  public static boolean isUtf8(byte[] json) {
    return json.length < 2 || (json[0] != 0 && json[1] != 0 && (json[0] & 0xFF) < 0xFE);
  }

  /** No members. */
  public static JsonMembers empty() {
    return new JsonMembers(new LinkedHashMap<>());
  }

  /** Whether there is no member. */
  public boolean isEmpty() {
    return members.isEmpty();
  }

  /** Whether there is such a member, null or not. */
  public boolean has(String name) {
    return members.containsKey(name);
  }

  /** Whether there is such a member and it is not null. */
  public boolean hasValue(String name) {
    Member member = members.get(name);
    return member != null && !member.value().text().equals("null");
  }

  /** A member's value, parsed; missing when there is none. */
  public JsonNode value(String name) {
    Member member = members.get(name);
    if (member == null) {
      return MissingNode.getInstance();
    }
    ByteRange value = member.value();
    try {
      return JSON.readTree(value.source(), value.from(), value.to() - value.from());
    } catch (IOException e) {
      throw new IllegalArgumentException("the value of '" + name + "' is not JSON", e);
    }
  }

  /**
   * All of them, parsed; numbers as prompts have them.
   *
   * @throws IllegalArgumentException when one is not JSON
   */
  public ObjectNode tree() {
    try {
      return (ObjectNode) TREES.readTree(bytes());
    } catch (IOException e) {
      throw new IllegalArgumentException("a member is not JSON", e);
    }
  }

  /** A member's value as it came; null when there is none. */
  public @Nullable String json(String name) {
    Member member = members.get(name);
    return member == null ? null : member.value().text();
  }

  /** A member's own members; null when it is no object. */
  public @Nullable JsonMembers object(String name) {
    String json = json(name);
    return json == null ? null : tryOf(json.getBytes(StandardCharsets.UTF_8));
  }

  /** The same with a member set to a JSON value: in its place when it was there, at the end otherwise. */
  public JsonMembers with(String name, String json) {
    Map<String, Member> changed = new LinkedHashMap<>(members);
    Member before = members.get(name);
    changed.put(name, new Member(before == null ? ByteRange.of(quoted(name)) : before.name(), ByteRange.of(json)));
    return new JsonMembers(changed);
  }

  /** The same with a member set to a text. */
  public JsonMembers withText(String name, String text) {
    return with(name, quoted(text));
  }

  /** The same with a member's value copied from another object's; as it is when that has none. */
  public JsonMembers withCopy(String name, JsonMembers from, String fromName) {
    String json = from.json(fromName);
    return json == null ? this : with(name, json);
  }

  /** The same without these members. */
  public JsonMembers without(String... names) {
    return without(Set.of(names)::contains);
  }

  /** The same without the members whose names match. */
  public JsonMembers without(Predicate<String> names) {
    Map<String, Member> changed = new LinkedHashMap<>(members);
    return changed.keySet().removeIf(names) ? new JsonMembers(changed) : this;
  }

  /** The object. */
  public byte[] bytes() {
    int size = 2;
    for (Member member : members.values()) {
      size += member.name().to() - member.name().from() + member.value().to() - member.value().from() + 2;
    }
    ByteArrayOutputStream out = new ByteArrayOutputStream(size);
    out.write('{');
    boolean first = true;
    for (Member member : members.values()) {
      if (!first) {
        out.write(',');
      }
      first = false;
      member.name().writeTo(out);
      out.write(':');
      member.value().writeTo(out);
    }
    out.write('}');
    return out.toByteArray();
  }

  @Override
  public String toString() {
    return new String(bytes(), StandardCharsets.UTF_8);
  }

  /** A text as JSON writes it. */
  static String quoted(String text) {
    return JSON.getNodeFactory().textNode(text).toString();
  }

  private static int offset(JsonParser parser) {
    return (int) parser.currentTokenLocation().getByteOffset();
  }

  /** Where the value ends that stands before {@code next}: blanks and one comma further back. */
  private static int endBefore(byte[] json, int next) {
    int end = next;
    while (blank(json[end - 1]) || json[end - 1] == ',') {
      end--;
    }
    return end;
  }

  /** Where the name ends whose value begins at {@code value}: blanks and the colon further back. */
  private static int endOfName(byte[] json, int value) {
    int end = value;
    while (blank(json[end - 1]) || json[end - 1] == ':') {
      end--;
    }
    return end;
  }

  private static boolean blank(byte c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }
}
