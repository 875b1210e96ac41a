package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;

/** What an engine's {@code /tokenize} makes of texts. */
public enum EngineTokens {
  /** Nothing: it does not answer. */
  NONE,
  /** Tokens of a vocabulary that is not known here; of conversations none. */
  OF_TEXTS,
  /** Tokens of a vocabulary that is not known here. */
  OTHER,
  /** Those of gpt-oss, whose vocabulary is bundled. */
  HARMONY;

  /** A text of three tokens in that vocabulary, at numbers that they have in no other. */
  static final String PROBE = "<|start|><|channel|><|message|>";

  private static final int[] HARMONY_PROBE = {200_006, 200_005, 200_008};

  /** Whether prompts for which there is no tokenizer here can be tokenised there, conversations too. */
  public boolean serve() {
    return this == OTHER || this == HARMONY;
  }

  /** Of an engine by its tokens of {@link #PROBE}. */
  static EngineTokens of(JsonNode tokens, EngineKind kind) {
    if (!tokens.isArray()) {
      return NONE;
    }
    boolean harmony = tokens.size() == HARMONY_PROBE.length;
    for (int i = 0; harmony && i < HARMONY_PROBE.length; i++) {
      harmony = tokens.get(i).asInt() == HARMONY_PROBE[i];
    }
    return harmony ? HARMONY : kind == EngineKind.TENSORRT_LLM ? OF_TEXTS : OTHER;
  }
}
