package io.kvasir.doctor.exam;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.prompt.EngineTokenizer;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.prompt.tokens.Samples;
import io.kvasir.prompt.tokens.Tokenizer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ModelPromptsTest {
  private static final Tokenizer DEMO = Samples.demo();
  private static final Pattern PROMPT = Pattern.compile("\"prompt\":\"(.*)\"}");

  /** An engine that makes the demo's tokens of texts, and of conversations others than we. */
  private static final EngineTokenizer ENGINE =
      body -> {
        Matcher text = PROMPT.matcher(body);
        return text.find() ? DEMO.encode(text.group(1).translateEscapes(), true) : new int[] {1, 2, 3};
      };

  @Test
  void conversationsThatTokenizeRendersOtherwise_areNotCompared(@TempDir Path directory) throws IOException {
    Files.write(directory.resolve("tokenizer.json"), Samples.bytes("/models/kvasir-demo/tokenizer.json"));
    Files.writeString(directory.resolve("config.json"), "{\"model_type\": \"gpt_oss\"}");
    ModelPrompts prompts =
        new ModelPrompts(
            new ModelConfig(
                "m", Set.of(), 16, PromptMode.EXACT, ModelConfig.FileSources.in(directory.toString()), Map.of(), 0,
                false));
    assertThat(prompts.compare(ENGINE, VllmVersion.of("0.32.0"))).isEqualTo(new TokenExam("m", null, null, null));
    assertThat(prompts.compare(ENGINE, VllmVersion.of("0.33.0")))
        .satisfies(exam -> assertThat(exam.text()).isNull())
        .satisfies(exam -> assertThat(exam.conversation()).contains("and 3 (the engine's)"));
  }
}
