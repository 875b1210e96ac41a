package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.zip.InflaterInputStream;

/**
 * What SGLang reads of the items of one {@code /v1/responses} body. What was thought before is there in summary, in
 * full, or packed by SGLang itself, for clients that have it store nothing. Packed text can be a thousand times as long
 * as what a client sends: what is unpacked is bounded by the length of that, and for all items together. Used by one
 * thread.
 *
 * <p>Source: SGLang {@code srt/entrypoints/openai/responses_adapters.py}.
 */
public final class SglangItems {
  private static final String PREFIX = "sglang-reasoning-v1.";

  /** Of messages. */
  private static final Set<String> ROLES = Set.of("user", "assistant", "system", "developer");

  /** Of all items together. */
  private static final int MAX_BYTES = 16 << 20;

  /** Bytes of text for each that a client sends: prose packs to a third. */
  private static final int MAX_RATIO = 16;

  private int left = MAX_BYTES;

  /**
   * Whether all items of an input are ones that OpenAI's library has types for, which leave out all that they have not.
   *
   * @param replayed whether items with an id and a content are among them
   */
  static boolean areTyped(JsonNode input, boolean replayed) {
    for (JsonNode item : input) {
      if (!isTyped(item, replayed)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isTyped(JsonNode item, boolean replayed) {
    return switch (item.path("type").asText("message")) {
      case "message" -> isTypedMessage(item, replayed);
      case "reasoning" -> hasAll(item, "id", "summary") && (replayed || !item.hasNonNull("content"));
      case "function_call" -> hasAll(item, "arguments", "call_id", "name");
      case "custom_tool_call" -> hasAll(item, "call_id", "input", "name");
      default -> hasAll(item, "call_id", "output");
    };
  }

  private static boolean isTypedMessage(JsonNode message, boolean replayed) {
    for (JsonNode part : message.path("content")) {
      if (!part.path("type").asText().startsWith("input_") && !(replayed && isReplayed(message))) {
        return false;
      }
    }
    return ROLES.contains(message.path("role").asText());
  }

  /** Whether a message is what an engine wrote, as it wrote it. */
  static boolean isReplayed(JsonNode message) {
    return hasAll(message, "id", "status", "type");
  }

  private static boolean hasAll(JsonNode item, String... fields) {
    return Arrays.stream(fields).allMatch(item::hasNonNull);
  }

  /** The output of a tool: a text, what it is of parts, or whatever else it was given. */
  public static JsonNode output(JsonNode output) {
    if (!output.isArray()) {
      return output.isMissingNode() ? TextNode.valueOf("") : output;
    }
    StringBuilder text = new StringBuilder();
    output.forEach(part -> text.append(part.path("text").asText("")));
    return TextNode.valueOf(text.toString());
  }

  /**
   * The thoughts of a {@code reasoning} item, empty when it has none.
   *
   * @param packed whether the engine reads what it packed
   */
  public String thoughts(JsonNode item, boolean packed) {
    String summary = texts(item.path("summary"));
    String text = summary.isEmpty() ? texts(item.path("content")) : summary;
    return text.isEmpty() && packed ? unpacked(item.path("encrypted_content").asText("")) : text;
  }

  private static String texts(JsonNode parts) {
    List<String> texts = new ArrayList<>();
    for (JsonNode part : parts) {
      String text = part.path("text").asText("");
      if (!text.isEmpty()) {
        texts.add(text);
      }
    }
    return String.join("\n", texts);
  }

  private String unpacked(String state) {
    if (!state.startsWith(PREFIX)) {
      return "";
    }
    try {
      String padded = state.substring(PREFIX.length());
      if (padded.length() % 4 != 0) {
        return "";
      }
      byte[] packed = Base64.getUrlDecoder().decode(padded);
      int most = (int) Math.min(left, (long) MAX_RATIO * padded.length());
      byte[] text = new InflaterInputStream(new ByteArrayInputStream(packed)).readNBytes(most + 1);
      left -= Math.min(left, text.length);
      return text.length > most ? "" : StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text)).toString();
    } catch (IllegalArgumentException | IOException broken) {
      return "";
    }
  }
}
