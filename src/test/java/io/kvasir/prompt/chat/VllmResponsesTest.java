package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/**
 * Prompts of {@code /v1/responses} that vLLM's own code of eight versions made, by a template that shows all of a
 * conversation. Fields that the client library's types have since are left out of what versions up to 0.26 show of
 * tools.
 */
final class VllmResponsesTest {
  @Test
  void prompts_areTheEnginesOwn() throws Exception {
    GoldenPrompts prompts =
        GoldenPrompts.of(
            "/vllm/responses.jsonl.gz", "dump", entry -> VllmVersion.of(entry.path("version").asText()));
    assertThat(prompts.wrong()).isEmpty();
    assertThat(prompts.compared()).isEqualTo(800);
  }
}
