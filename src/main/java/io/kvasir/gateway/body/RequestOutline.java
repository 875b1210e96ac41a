package io.kvasir.gateway.body;

import io.kvasir.execution.dialect.JsonMembers;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the top of a request's body shows before it is read: found by one pass over its bytes, in no memory to speak of,
 * whatever a client has sent. Of a member that comes twice the last counts, as engines have it. Immutable.
 *
 * @param model the model that it names, null when it names none, or by a name that is longer than any model's
 * @param stream whether it has {@code "stream": true}
 * @param members which members there are of those that tell APIs apart
 */
public record RequestOutline(@Nullable NamedModel model, boolean stream, Set<Member> members) {
  /** Names are not looked at beyond so many bytes. */
  private static final int LONGEST_NAME = 1024;

  /** A member by which APIs can be told apart. */
  public enum Member {
    /** Of chats and messages. */
    MESSAGES("messages"),
    /** Of completions. */
    PROMPT("prompt"),
    /** Of responses and embeddings. */
    INPUT("input"),
    /** Of embeddings. */
    ENCODING_FORMAT("encoding_format");

    private static final Member[] ALL = values();

    private final String key;

    Member(String key) {
      this.key = key;
    }
  }

  /**
   * A model by its name, and where that stands.
   *
   * @param from where its value begins in the body, with its quote
   * @param to where that ends
   */
  public record NamedModel(String name, int from, int to) {
    /**
     * A body of which this is the model, with another in its place.
     *
     * @param quoted the other's name, as JSON writes it
     */
    public byte[] replaced(byte[] body, String quoted) {
      byte[] json = quoted.getBytes(StandardCharsets.UTF_8);
      ByteArrayOutputStream out = new ByteArrayOutputStream(body.length - (to - from) + json.length);
      out.write(body, 0, from);
      out.writeBytes(json);
      out.write(body, to, body.length - to);
      return out.toByteArray();
    }
  }

  /** Makes the members immutable. */
  public RequestOutline {
    members = Set.copyOf(members);
  }

  /** Looks at a body; of one that is no JSON object it shows nothing. */
  public static RequestOutline of(byte[] body) {
    MemberCursor cursor = new MemberCursor(body);
    Set<Member> members = EnumSet.noneOf(Member.class);
    int modelFrom = 0;
    int modelTo = 0;
    boolean stream = false;
    while (cursor.next()) {
      if (cursor.isNamed("model")) {
        modelFrom = cursor.isText() ? cursor.valueFrom() : 0;
        modelTo = cursor.isText() ? cursor.valueTo() : 0;
      } else if (cursor.isNamed("stream")) {
        stream = cursor.isWord("true");
      } else {
        add(cursor, members);
      }
    }
    return new RequestOutline(model(body, modelFrom, modelTo), stream, members);
  }

  private static void add(MemberCursor cursor, Set<Member> members) {
    for (Member member : Member.ALL) {
      if (cursor.isNamed(member.key)) {
        members.add(member);
      }
    }
  }

  private static @Nullable NamedModel model(byte[] body, int from, int to) {
    int length = to - from - 2;
    if (length < 1 || length > LONGEST_NAME) {
      return null;
    }
    String name = new String(body, from + 1, length, StandardCharsets.UTF_8);
    if (name.indexOf('\\') >= 0) {
      JsonMembers alone = JsonMembers.tryOf(("{\"model\":\"" + name + "\"}").getBytes(StandardCharsets.UTF_8));
      if (alone == null) {
        return null;
      }
      name = alone.value("model").textValue();
    }
    return name.isBlank() ? null : new NamedModel(name, from, to);
  }
}
