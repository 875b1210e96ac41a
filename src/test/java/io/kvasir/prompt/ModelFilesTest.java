package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.tokens.Samples;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Models of files on disk. */
final class ModelFilesTest {
  private static final JsonNode CHAT = Bodies.json("{'messages': [{'role': 'user', 'content': 'hello there'}]}");

  @TempDir
  private Path dir;

  @BeforeEach
  void tokenizer() throws IOException {
    Files.write(dir.resolve("tokenizer.json"), Samples.bytes("/models/kvasir-demo/tokenizer.json"));
  }

  private Prompts load(@Nullable Path template) throws IOException {
    ModelConfig.FileSources files =
        new ModelConfig.FileSources(dir.toString(), null, template == null ? null : template.toString());
    return Prompts.load(
        List.of(new ModelConfig("m", Set.of(), 16, PromptMode.EXACT, files, Map.of(), 0, false)),
        PromptSettings.ofMemo(1 << 20), _ -> null, Runnable::run, Clock.systemUTC(), new ManualClock(),
        new Metrics(new PrometheusRegistry()));
  }

  private static int tokens(String text) {
    return Samples.demo().encode(text, false).length;
  }

  @Test
  void load_templateFromElsewhere_isUsedWithTheDirectorysTokens() throws IOException {
    Path template = Files.writeString(dir.resolve("other"), "{{ bos_token }}{{ messages[0].content }}");
    Files.writeString(dir.resolve("tokenizer_config.json"), "{\"bos_token\": \"<|im_start|>\"}");
    Prompt prompt = Bodies.prepare(load(template), Api.CHAT, "m", CHAT);
    assertThat(prompt.mode()).isEqualTo(PromptMode.EXACT);
    assertThat(prompt.tokens()).isEqualTo(tokens("<|im_start|>hello there"));
  }

  @Test
  void load_templateFromElsewhere_theDirectorysMayBeBroken() throws IOException {
    Files.writeString(dir.resolve("chat_template.jinja"), "{% if %}");
    assertThatThrownBy(() -> load(null)).hasMessageContaining("chat_template.jinja");
    Path template = Files.writeString(dir.resolve("other"), "{{ messages[0].content }}");
    assertThat(Bodies.prepare(load(template), Api.CHAT, "m", CHAT).tokens()).isEqualTo(tokens("hello there"));
  }

  @Test
  void load_templateThatIsNotThereOrBroken_isNamed() throws IOException {
    Files.writeString(dir.resolve("chat_template.jinja"), "{{ messages[0].content }}");
    assertThatThrownBy(() -> load(Path.of("/nowhere/x.jinja")))
        .isInstanceOf(IOException.class).hasMessageContaining("model m: chat-template /nowhere/x.jinja");
    Path broken = Files.writeString(dir.resolve("other"), "a\n{% if %}");
    assertThatThrownBy(() -> load(broken))
        .isInstanceOf(IOException.class).hasMessageContaining("chat-template " + broken).hasMessageContaining("line 2");
  }

  @Test
  void prepare_conversationOfAModelWithoutTemplate_isAProblem() throws IOException {
    Prompts prompts = load(null);
    PromptModel model = prompts.models().iterator().next();
    Bodies.prepare(prompts, Api.COMPLETIONS, "m", Bodies.json("{'prompt': 'hello'}"));
    assertThat(model.problems()).isEmpty();
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", CHAT).reason()).isEqualTo(PromptReason.TEMPLATE_FAILED);
    assertThat(model.problems()).extracting(Problem::what).singleElement().asString()
        .contains("1 conversations").endsWith("because the model's files have no chat template");
    assertThat(model.problems()).extracting(Problem::remedy).singleElement().asString()
        .startsWith("give the model mode = engine where its engines render without a template");
  }
}
