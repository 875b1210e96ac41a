package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Conversations as vLLM prepares them, beside what its own code makes of the same requests: made by the server's
 * classes of ten versions from 0.16 to 0.33, from a request's body to the text, with templates that print what they are
 * given. {@code load-tests/prompts} does the same with any version. Of functions of {@code /v1/responses}, versions up
 * to 0.26 show fields of the client library that is installed; those that came later are left out.
 */
final class VllmPromptsTest {
  @ParameterizedTest
  @CsvSource({"prompts, 1000", "responses, 800"})
  void prompts_areTheEngines(String name, int size) throws IOException {
    List<GoldenPrompts.Pair> prompts = GoldenPrompts.of(
        "/vllm/" + name + ".jsonl.gz", entry -> VllmVersion.of(entry.path("version").asText()));
    assertThat(GoldenPrompts.wrong(prompts)).isEmpty();
    assertThat(prompts).hasSize(size);
  }
}
