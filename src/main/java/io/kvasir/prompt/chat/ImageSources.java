package io.kvasir.prompt.chat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * The images of an Anthropic message in the chat completion that is made of it. No prompt needs their bytes, so that
 * conversions leave them as they came; an engine that is sent the chat takes URLs.
 */
final class ImageSources {
  private ImageSources() {}

  /** Puts URLs in place of sources; {@code chat} has parts of its own. */
  static void toUrls(ObjectNode chat, EngineVersion engine) {
    String otherwise = engine instanceof VllmVersion ? "image/jpeg" : "image/png";
    for (JsonNode message : chat.path("messages")) {
      for (JsonNode part : message.path("content")) {
        JsonNode source = part.path("image_url");
        if (source.has("type") && part instanceof ObjectNode image) {
          image.putObject("image_url").put("url", url(source, otherwise));
        }
      }
    }
  }

  private static String url(JsonNode source, String mediaType) {
    return source.path("type").asText().equals("url")
        ? source.path("url").asText()
        : "data:" + source.path("media_type").asText(mediaType) + ";base64," + source.path("data").asText();
  }
}
