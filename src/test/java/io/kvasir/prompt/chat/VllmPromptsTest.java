package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Conversations as vLLM prepares them, beside what its own code makes of the same requests: made by the server's
 * classes of each version, from a request's body to the text, with templates that print what they are given, which
 * {@code load-tests/prompts} does with any version.
 */
final class VllmPromptsTest {
  /** Chats by ten versions from 0.16 to 0.33, messages by ten from 0.17; most of them are others by the next one. */
  @ParameterizedTest
  @ValueSource(strings = {"members", "parts", "developers"})
  void prompts_areTheEngines(String template) throws IOException {
    GoldenPrompts prompts = vllm("/vllm/prompts.jsonl.gz", template);
    assertThat(prompts.wrong()).isEmpty();
    assertThat(prompts.compared()).isGreaterThan(200);
  }

  /**
   * By eight versions. Fields that the client library's types have since are left out of what versions up to 0.26 show
   * of tools.
   */
  @Test
  void responses_areTheEngines() throws IOException {
    GoldenPrompts prompts = vllm("/vllm/responses.jsonl.gz", "dump");
    assertThat(prompts.wrong()).isEmpty();
    assertThat(prompts.compared()).isEqualTo(800);
  }

  private static GoldenPrompts vllm(String resource, String template) throws IOException {
    return GoldenPrompts.of(resource, template, entry -> VllmVersion.of(entry.path("version").asText()));
  }
}
