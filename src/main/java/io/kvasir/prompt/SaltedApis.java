package io.kvasir.prompt;

import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangRule;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmRule;
import io.kvasir.prompt.chat.VllmVersion;

/** In which APIs' requests an engine reads a {@code cache_salt}; in others it takes no notice of one. */
final class SaltedApis {
  private SaltedApis() {}

  static boolean has(Api api, EngineVersion engine) {
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
}
