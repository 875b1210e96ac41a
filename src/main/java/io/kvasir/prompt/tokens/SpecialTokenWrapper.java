package io.kvasir.prompt.tokens;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** The special tokens that a tokenizer.json's post-processor adds before and after a text. */
record SpecialTokenWrapper(int[] before, int[] after) {
  private static final SpecialTokenWrapper NONE = new SpecialTokenWrapper(new int[0], new int[0]);

  private boolean isNothing() {
    return before.length == 0 && after.length == 0;
  }

  /** The special tokens of {@code processor}, null if it does something else as well. */
  static @Nullable SpecialTokenWrapper of(JsonNode processor) {
    return switch (processor.path("type").asText()) {
      case "", "ByteLevel" -> NONE;
      case "TemplateProcessing" -> template(processor);
      case "Sequence" -> sequence(processor.path("processors"));
      default -> null;
    };
  }

  private static @Nullable SpecialTokenWrapper sequence(JsonNode processors) {
    SpecialTokenWrapper all = NONE;
    for (JsonNode part : processors) {
      SpecialTokenWrapper one = of(part);
      if (one == null || (!all.isNothing() && !one.isNothing())) {
        return null;
      }
      all = one.isNothing() ? all : one;
    }
    return all;
  }

  private static @Nullable SpecialTokenWrapper template(JsonNode processor) {
    TokenIdList before = new TokenIdList(0);
    TokenIdList after = new TokenIdList(0);
    boolean passed = false;
    for (JsonNode part : processor.path("single")) {
      if (part.has("Sequence")) {
        if (passed) {
          return null;
        }
        passed = true;
      } else {
        String name = part.path("SpecialToken").path("id").asText();
        for (JsonNode id : processor.path("special_tokens").path(name).path("ids")) {
          (passed ? after : before).add(id.asInt());
        }
      }
    }
    return passed ? new SpecialTokenWrapper(before.copyFrom(0), after.copyFrom(0)) : null;
  }
}
