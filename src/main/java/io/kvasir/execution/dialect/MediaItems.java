package io.kvasir.execution.dialect;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Set;

/** Images, sounds and videos in the messages of a chat, which an encode worker can take. */
public final class MediaItems {
  /** A part's type, and the member that holds its content. */
  private static final Set<String> KINDS = Set.of("image_url", "audio_url", "input_audio", "video_url");

  private MediaItems() {}

  /** How many there are. */
  public static int count(JsonNode messages) {
    int items = 0;
    for (JsonNode turn : messages) {
      for (JsonNode part : turn.path("content")) {
        items += is(part) ? 1 : 0;
      }
    }
    return items;
  }

  static boolean is(JsonNode part) {
    return part.isObject() && KINDS.contains(part.path("type").asText());
  }
}
