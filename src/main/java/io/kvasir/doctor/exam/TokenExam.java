package io.kvasir.doctor.exam;

import org.jspecify.annotations.Nullable;

/**
 * Our tokens of a text and of a conversation beside the engine's.
 *
 * @param model whose
 * @param notCompared why there is no comparison, null when there is
 * @param text where those of the text differ, null when they do not
 * @param conversation where those of the conversation differ, null when they do not
 */
public record TokenExam(
    String model, @Nullable String notCompared, @Nullable String text, @Nullable String conversation) {
  static TokenExam notCompared(String model, String why) {
    return new TokenExam(model, why, null, null);
  }
}
