package io.kvasir.gateway.admin;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.regex.Pattern;

/**
 * Keeps secrets out of what the admin API shows: texts of settings whose names are those of secrets, and credentials
 * in addresses. Names of settings are matched in any spelling.
 */
final class SecretMask {
  private static final String MASK = "***";

  /** The last word, or the last two, of a setting's name. */
  private static final Pattern NAME =
      Pattern.compile(
          "(?i)(.*[-_.])?(password|passwd|passphrase|secret|token|credentials?|authorization|sha256"
              + "|(api|admin|access|private|secret|signing|account)[-_]?keys?)");

  /** Keys that are secret by where they stand. */
  private static final Pattern PLACE = Pattern.compile(".*\\bevents(\\[\\d+])?\\.key|.*\\bpush\\.key");

  /** Files, whose names are none. */
  private static final Pattern FILE =
      Pattern.compile(".*\\bkubernetes\\.token|.*\\b(events(\\[\\d+])?|nats)\\.credentials");

  /** What stands before the last @ of an address; a list of them may have commas between. */
  private static final Pattern USER = Pattern.compile("(?<=://)(?:(?!,\\s*\\w+://)\\S)*(?=@)");
  private static final Pattern PARAMETER =
      Pattern.compile("(?i)(?<=[?&])([a-z_-]*(?:password|secret|token|key|sig|signature))=[^&\\s]*");

  private SecretMask() {}

  /** A setting's value without what is secret in it; the same value when nothing is. */
  static JsonNode masked(String path, JsonNode value) {
    return switch (value) {
      case ObjectNode object -> {
        ObjectNode masked = JsonNodeFactory.instance.objectNode();
        object.properties().forEach(
            member -> masked.set(member.getKey(), masked(path + "." + member.getKey(), member.getValue())));
        yield masked;
      }
      case ArrayNode list -> {
        ArrayNode masked = JsonNodeFactory.instance.arrayNode();
        list.forEach(element -> masked.add(masked(path, element)));
        yield masked;
      }
      case TextNode text -> TextNode.valueOf(masked(path, text.textValue()));
      default -> value;
    };
  }

  private static String masked(String path, String text) {
    if (text.isEmpty()) {
      return text;
    }
    if ((NAME.matcher(path).matches() || PLACE.matcher(path).matches()) && !FILE.matcher(path).matches()) {
      return MASK;
    }
    return PARAMETER.matcher(USER.matcher(text).replaceAll(MASK)).replaceAll("$1=" + MASK);
  }
}
