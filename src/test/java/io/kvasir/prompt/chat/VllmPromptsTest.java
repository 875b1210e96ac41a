package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.prompt.GoldenPrompts;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Conversations as vLLM prepares them, beside what its own code makes of the same requests: by the server's classes of
 * ten versions from 0.17 to 0.33, from a request's body to the text, with templates that print what they are given.
 * {@code load-tests/prompts}, of which these are a sample, does the same with any version. Most are others by the next
 * of the ten.
 */
final class VllmPromptsTest {
  @Test
  void prompts_areTheEngines() throws IOException {
    List<GoldenPrompts.Pair> prompts = GoldenPrompts.of(
        "/vllm/prompts.jsonl.gz", entry -> VllmVersion.of(entry.path("version").asText()));
    assertThat(GoldenPrompts.wrong(prompts)).isEmpty();
    assertThat(prompts).hasSize(1200);
  }
}
