package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.zip.InflaterInputStream;

/**
 * What was thought before, as the {@code reasoning} items of a {@code /v1/responses} body have it: in summary, in full,
 * or packed by SGLang itself, for clients that have it store nothing.
 *
 * <p>Source: SGLang {@code srt/entrypoints/openai/responses_adapters.py}.
 */
final class ReasoningState {
  private static final String PREFIX = "sglang-reasoning-v1.";

  /** A client can pack a great deal into little. */
  private static final int MAX_BYTES = 16 << 20;

  private ReasoningState() {}

  /**
   * The text of an item, empty when it has none.
   *
   * @param packed whether the engine reads what it packed
   */
  static String of(JsonNode item, boolean packed) {
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

  private static String unpacked(String state) {
    if (!state.startsWith(PREFIX)) {
      return "";
    }
    try {
      String padded = state.substring(PREFIX.length());
      if (padded.length() % 4 != 0) {
        return "";
      }
      byte[] packed = Base64.getUrlDecoder().decode(padded);
      byte[] text = new InflaterInputStream(new ByteArrayInputStream(packed)).readNBytes(MAX_BYTES + 1);
      return text.length > MAX_BYTES
          ? ""
          : StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text)).toString();
    } catch (IllegalArgumentException | IOException broken) {
      return "";
    }
  }
}
