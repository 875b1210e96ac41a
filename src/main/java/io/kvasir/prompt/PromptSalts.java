package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangRule;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmRule;
import io.kvasir.prompt.chat.VllmVersion;
import org.jspecify.annotations.Nullable;

/** What in a request parts its blocks from those of others, as an engine reads it. */
final class PromptSalts {
  private PromptSalts() {}

  /** Whether an engine reads a {@code cache_salt} in requests to an API; in others it takes no notice of one. */
  static boolean isRead(Api api, EngineVersion engine) {
    return switch (api) {
      case CHAT, COMPLETIONS, EMBEDDINGS -> true;
      case RESPONSES -> switch (engine) {
        case VllmVersion _ -> true;
        case SglangVersion version -> SglangRule.RESPONSES_SALT.holds(version);
        case TensorRtVersion _ -> false;
      };
      case MESSAGES -> engine instanceof VllmVersion version && VllmRule.MESSAGES_SALT.holds(version);
    };
  }

  /** The salt of a request; null for none. SGLang appends a second one, {@code extra_key}, to the first. */
  static @Nullable String of(Api api, JsonNode body, EngineVersion engine) {
    String salt = isRead(api, engine) ? body.path("cache_salt").asText(null) : null;
    if (!(engine instanceof SglangVersion) || api == Api.EMBEDDINGS || !isRead(api, engine)) {
      return salt;
    }
    String second = body.path("extra_key").asText("");
    return second.isEmpty() ? salt : salt == null ? second : salt + second;
  }
}
