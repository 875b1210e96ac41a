package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.index.Chain;
import io.kvasir.prompt.tokens.Samples;
import io.kvasir.prompt.tokens.Texts;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Engine mode, and comparisons with the engine's tokens. */
final class EngineModeTest {
  private static final Tokenizer DEMO = Samples.demo();
  private static final String LONG = new Texts(3).prose(700);

  /** Answers like an engine that renders each message in one line, or not at all. */
  private static final class Engine implements EngineTokenizer {
    private final List<JsonNode> requests = new ArrayList<>();
    private boolean down;
    private String ending = "<|im_end|>\n<|im_start|>assistant\n";

    @Override
    public int[] tokenize(String jsonBody) throws IOException {
      JsonNode body = Bodies.parse(jsonBody);
      requests.add(body);
      if (down) {
        throw new IOException("connection refused");
      }
      if (body.has("prompt")) {
        return DEMO.encode(body.get("prompt").asText(), true);
      }
      StringBuilder text = new StringBuilder();
      for (JsonNode message : body.get("messages")) {
        text.append(text.isEmpty() ? "" : "<|im_end|>\n");
        text.append("<|im_start|>").append(message.get("role").asText()).append('\n');
        text.append(message.get("content").asText());
      }
      return DEMO.encode(text + (body.get("add_generation_prompt").asBoolean() ? ending : "<|im_end|>\n"), false);
    }
  }

  private final Engine engine = new Engine();
  private final ManualClock clock = new ManualClock();
  private final PrometheusRegistry registry = new PrometheusRegistry();

  private Prompts prompts(PromptMode mode, double sample) throws IOException {
    return Prompts.load(
        List.of(
            new ModelConfig(
                "m", Set.of("tuned"), 16, mode, ModelConfig.FileSources.in("bundled:kvasir-demo"), Map.of(), sample,
                false)),
        1 << 20, model -> engine, Runnable::run, Clock.systemUTC(), clock, new Metrics(registry));
  }

  private static ObjectNode chat(String content) {
    ObjectNode body = Bodies.object("{'messages': [{'role': 'user'}]}");
    ((ObjectNode) body.at("/messages/0")).put("content", content);
    return body;
  }

  private String metrics() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    PrometheusTextFormatWriter.create().write(out, registry.scrape());
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void prepare_engineMode_asksAndRemembersTheAnswer() throws IOException {
    Prompts prompts = prompts(PromptMode.ENGINE, 0);
    Prompt first = prompts.prepare(Api.CHAT, "m", chat(LONG));
    int[] ids = DEMO.encode("<|im_start|>user\n" + LONG + engine.ending, false);
    Chain chain = PrefixMemo.ofIds(BlockNamespace.of("m", 16, null, null), ids).chain();
    assertThat(first).isEqualTo(new Prompt(chain, ids.length, PromptMode.ENGINE, PromptReason.AS_CONFIGURED, null));
    assertThat(prompts.prepare(Api.CHAT, "m", chat(LONG))).isEqualTo(first);
    assertThat(engine.requests).hasSize(1);
    assertThat(prompts.prepare(Api.CHAT, "tuned", chat(LONG)).chain()).isNotEqualTo(first.chain());
    assertThat(engine.requests).extracting(request -> request.get("model").asText()).containsExactly("m", "tuned");
  }

  @Test
  void prepare_engineMode_asksForTheTextBeforeAnImage() throws IOException {
    ObjectNode body = chat(LONG);
    body.withArray("messages").add(Bodies.json("{'role': 'user', 'content': [{'type': 'image_url'}]}"));
    Prompt prompt = prompts(PromptMode.ENGINE, 0).prepare(Api.CHAT, "m", body);
    assertThat(prompt.reason()).isEqualTo(PromptReason.MULTIMODAL);
    assertThat(prompt.chain().length()).isPositive();
    assertThat(engine.requests.getFirst().get("messages")).hasSize(1);
  }

  @Test
  void prepare_engineFails_chunksTextAndLeavesItAloneForAWhile() throws IOException {
    Prompts prompts = prompts(PromptMode.ENGINE, 0);
    engine.down = true;
    for (int i = 0; i < 5; i++) {
      Prompt prompt = prompts.prepare(Api.COMPLETIONS, "m", Bodies.object("{}").put("prompt", LONG + i));
      assertThat(prompt.mode()).isEqualTo(PromptMode.TEXT);
      assertThat(prompt.reason()).isEqualTo(PromptReason.ENGINE_FAILED);
    }
    assertThat(engine.requests).hasSize(1);
    engine.down = false;
    clock.advance(Duration.ofMillis(249));
    assertThat(prompts.prepare(Api.CHAT, "m", chat(LONG)).mode()).isEqualTo(PromptMode.TEXT);
    assertThat(engine.requests).hasSize(1);
    clock.advance(Duration.ofMillis(1));
    assertThat(prompts.prepare(Api.CHAT, "m", chat(LONG)).mode()).isEqualTo(PromptMode.ENGINE);
    assertThat(metrics())
        .contains("kvasir_prompts_total{mode=\"text\",model=\"m\",why=\"engine_failed\"} 6.0");
  }

  @Test
  void check_sameTokens_staysExact() throws IOException {
    Prompts prompts = prompts(PromptMode.EXACT, 0);
    PromptModel model = prompts.models().iterator().next();
    assertThat(model.state().parity().verdict()).isEqualTo(Parity.Verdict.UNCHECKED);
    assertThat(model.check()).isEqualTo(new Parity(Parity.Verdict.SAME, null));
    assertThat(model.state().mode()).isEqualTo(PromptMode.EXACT);
    engine.down = true;
    assertThat(model.check().verdict()).isEqualTo(Parity.Verdict.UNANSWERED);
    assertThat(model.state().parity().verdict()).isEqualTo(Parity.Verdict.SAME);
  }

  @Test
  void check_otherTokens_asksTheEngineUntilTheyAreTheSame() throws IOException {
    Prompts prompts = prompts(PromptMode.EXACT, 0);
    PromptModel model = prompts.models().iterator().next();
    engine.ending = "<|im_end|>\n<|im_start|>assistant\n<think>\n";
    assertThat(model.check().difference()).contains("at token").contains("assistant\\n<think>");
    assertThat(model.state().mode()).isEqualTo(PromptMode.ENGINE);
    Prompt prompt = prompts.prepare(Api.CHAT, "m", chat(LONG));
    assertThat(prompt.mode()).isEqualTo(PromptMode.ENGINE);
    assertThat(prompt.reason()).isEqualTo(PromptReason.NO_PARITY);
    assertThat(metrics()).contains("kvasir_prompt_mode{mode=\"engine\",model=\"m\"} 1.0")
        .contains("kvasir_prompt_mode{mode=\"exact\",model=\"m\"} 0.0")
        .contains("kvasir_prompt_parity_checks_total{model=\"m\",verdict=\"different\"} 1.0");
    engine.ending = "<|im_end|>\n<|im_start|>assistant\n";
    assertThat(model.check().verdict()).isEqualTo(Parity.Verdict.SAME);
    assertThat(prompts.prepare(Api.CHAT, "m", chat(LONG)).mode()).isEqualTo(PromptMode.EXACT);
  }

  @Test
  void prepare_sampledPromptDiffers_fallsBackUntilThatPromptAgrees() throws IOException {
    Prompts prompts = prompts(PromptMode.EXACT, 1);
    PromptModel model = prompts.models().iterator().next();
    assertThat(prompts.prepare(Api.CHAT, "m", chat(LONG)).mode()).isEqualTo(PromptMode.EXACT);
    assertThat(engine.requests).hasSize(1);
    assertThat(model.state().parity().verdict()).isEqualTo(Parity.Verdict.SAME);
    // This engine prints nothing of tools, our template does.
    ObjectNode tools = chat(LONG);
    tools.set("tools", Bodies.json("[{'type': 'function', 'function': {'name': 'f'}}]"));
    assertThat(prompts.prepare(Api.CHAT, "m", tools).mode()).isEqualTo(PromptMode.EXACT);
    assertThat(model.state().mode()).isEqualTo(PromptMode.ENGINE);
    prompts.prepare(Api.CHAT, "m", chat(LONG));
    assertThat(model.state().mode()).as("others that agree prove nothing").isEqualTo(PromptMode.ENGINE);
    assertThat(model.check().verdict()).isEqualTo(Parity.Verdict.DIFFERENT);
  }

  @Test
  void ids_answersOfEngines_areRead() throws IOException {
    assertThat(EngineTokenizer.ids(Bodies.json("{'count': 2, 'tokens': [5, 7]}"))).containsExactly(5, 7);
    assertThatThrownBy(() -> EngineTokenizer.ids(Bodies.json("{'error': 'x'}"))).hasMessageContaining("tokens");
    assertThatThrownBy(() -> EngineTokenizer.ids(Bodies.json("{'tokens': ['a']}"))).hasMessageContaining("[0]");
  }
}
