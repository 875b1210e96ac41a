package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.classic.spi.ThrowableProxyUtil;
import ch.qos.logback.core.read.ListAppender;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.tokens.Texts;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** Comparisons with the engine's tokens, and the modes that follow from them. */
@Isolated("reads the log")
final class ParityTest {
  private static final String LONG = new Texts(3).prose(300);
  private static final String TOOLS = "[{'type': 'function', 'function': {'name': 'f'}}]";

  private final DemoEngine engine = new DemoEngine();
  private final PrometheusRegistry registry = new PrometheusRegistry();
  private final Prompts prompts = load(Map.of());
  private final PromptModel model = prompts.models().iterator().next();
  private final Logger log = (Logger) LoggerFactory.getLogger("io.kvasir");
  private final Level level = log.getLevel();
  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  /** All prompts are compared, on the caller's thread. */
  private Prompts load(Map<String, Object> templateKwargs) {
    try {
      return Prompts.load(
          List.of(
              new ModelConfig(
                  "m", Set.of(), 16, PromptMode.EXACT, ModelConfig.FileSources.in("bundled:kvasir-demo"),
                  templateKwargs, 1, false)),
          PromptSettings.ofMemo(1 << 20), _ -> engine, Runnable::run, Clock.systemUTC(), new ManualClock(),
          new Metrics(templateKwargs.isEmpty() ? registry : new PrometheusRegistry()));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @BeforeEach
  void listen() {
    log.setLevel(Level.TRACE);
    log.setAdditive(false);
    logged.start();
    log.addAppender(logged);
  }

  @AfterEach
  void restore() {
    log.detachAppender(logged);
    log.setLevel(level);
    log.setAdditive(true);
  }

  private static ObjectNode chat(String content) {
    ObjectNode body = Bodies.object("{'messages': [{'role': 'user'}]}");
    ((ObjectNode) body.at("/messages/0")).put("content", content);
    return body;
  }

  private static ObjectNode chat(String content, String field, String value) {
    return chat(content).set(field, Bodies.json(value));
  }

  private Prompt send(String sender, Api api, JsonNode body) {
    return prompts.prepare(new PromptRequest(api, "m", body, true, () -> sender), prompts.limiter().unlimited());
  }

  private PromptMode modeOf(ObjectNode body) {
    return Bodies.prepare(prompts, Api.CHAT, "m", body).mode();
  }

  private String logLines() {
    return logged.list.stream()
        .map(event -> event.getFormattedMessage()
            + (event.getThrowableProxy() == null ? "" : ThrowableProxyUtil.asString(event.getThrowableProxy())))
        .collect(Collectors.joining("\n"));
  }

  private String metrics() throws IOException {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    PrometheusTextFormatWriter.create().write(out, registry.scrape());
    return out.toString(StandardCharsets.UTF_8);
  }

  @Test
  void check_probeIsTheSame_staysExactAndNeedsNoMoreChecks() {
    assertThat(model.state().parity()).isEqualTo(Parity.UNCHECKED);
    assertThat(model.needsCheck()).isTrue();
    model.check();
    assertThat(model.state().parity()).isEqualTo(Parity.SAME);
    assertThat(model.needsCheck()).isFalse();
    assertThat(modeOf(chat(LONG))).isEqualTo(PromptMode.EXACT);
    assertThat(model.problems()).isEmpty();
  }

  /** As TensorRT-LLM's, whose /tokenize knows no conversations: a text is compared in their place. */
  @Test
  void check_engineTokenisesTextsAlone_aTextIsCompared_andClientsConversationsAreNot() {
    engine.version = TensorRtVersion.of("1.2.1");
    model.learnEngineVersions();
    model.check();
    assertThat(model.state().parity()).isEqualTo(Parity.SAME);
    assertThat(engine.requests).singleElement()
        .satisfies(asked -> assertThat(asked.properties()).singleElement().extracting(Map.Entry::getKey)
            .isEqualTo("prompt"));
    assertThat(send("a", Api.CHAT, chat(LONG, "tools", TOOLS)).mode()).isEqualTo(PromptMode.EXACT);
    assertThat(engine.requests).hasSize(1);
    assertThat(send("a", Api.COMPLETIONS, Bodies.object("{'prompt': 'a text'}")).mode()).isEqualTo(PromptMode.EXACT);
    assertThat(engine.requests).hasSize(2);
    assertThat(model.problems()).isEmpty();
  }

  @Test
  void check_probeDiffers_allPromptsGoByTheEngineUntilItAgrees() throws IOException {
    engine.ending = "<|im_end|>\n<|im_start|>assistant\n<think>\u001b[31m\n";
    model.check();
    assertThat(model.state().parity().detail()).contains("at token").contains("assistant\\n<think>")
        .contains("\\u{1b}").doesNotContain("\u001b");
    assertThat(model.problems()).singleElement().asString().contains("engine mode instead of exact", "<think>");
    assertThat(model.needsCheck()).isTrue();
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG));
    assertThat(prompt.mode()).isEqualTo(PromptMode.ENGINE);
    assertThat(prompt.reason()).isEqualTo(PromptReason.NO_PARITY);
    assertThat(modeOf(chat(LONG, "tools", TOOLS))).isEqualTo(PromptMode.ENGINE);
    assertThat(metrics()).contains("kvasir_prompt_mode{mode=\"engine\",model=\"m\"} 1.0")
        .contains("kvasir_prompt_mode{mode=\"exact\",model=\"m\"} 0.0")
        .contains("kvasir_prompt_engine_shapes{model=\"m\"} 33.0")
        .contains("kvasir_prompt_parity_checks_total{model=\"m\",verdict=\"different\"} 1.0");
    engine.ending = DemoEngine.ENDING;
    model.check();
    assertThat(metrics()).contains("kvasir_prompt_engine_shapes{model=\"m\"} 0.0");
    assertThat(modeOf(chat(LONG))).isEqualTo(PromptMode.EXACT);
    assertThat(model.problems()).isEmpty();
  }

  @Test
  void prepare_idsWhileOurTokensDiffer_areAsConfigured() {
    engine.ending = "<think>";
    model.check();
    assertThat(Bodies.prepare(prompts, Api.COMPLETIONS, "m", Bodies.json("{'prompt': [1, 2]}")))
        .returns(PromptMode.EXACT, Prompt::mode)
        .returns(PromptReason.AS_CONFIGURED, Prompt::reason);
  }

  /** What is left of a model's series would keep an alert firing. */
  @Test
  void forget_modelThatDiffers_leavesNoSeries_notEvenByAComparisonThatEndsLater() throws IOException {
    engine.ending = "<think>";
    model.check();
    send("a", Api.CHAT, chat(LONG));
    assertThat(metrics()).contains("model=\"m\"");
    prompts.forget("m");
    model.check();
    assertThat(metrics()).doesNotContain("model=\"m\"");
  }

  @Test
  void learn_inPlaceOfAModelThatDiffers_showsTheNewOne() throws IOException {
    engine.ending = "<think>";
    model.check();
    prompts.learn(ModelConfig.demo("m", 16));
    model.check();
    assertThat(metrics()).contains("kvasir_prompt_engine_shapes{model=\"m\"} 0.0",
        "kvasir_prompt_mode{mode=\"exact\",model=\"m\"} 1.0");
  }

  @Test
  void prepare_clientsPromptAgrees_nothingChanges() {
    assertThat(send("a", Api.CHAT, chat(LONG)).mode()).isEqualTo(PromptMode.EXACT);
    assertThat(engine.requests).hasSize(1);
    assertThat(TestMetrics.sum(registry, "kvasir_prompt_parity_checks", "m", "same")).isEqualTo(1);
  }

  @Test
  void prepare_clientsPromptDiffersAndTheProbeOfItsShapeToo_thatShapeGoesByTheEngine() {
    model.check();
    send("a", Api.CHAT, chat(LONG, "tools", TOOLS));
    assertThat(modeOf(chat("other", "tools", TOOLS))).isEqualTo(PromptMode.ENGINE);
    assertThat(modeOf(chat(LONG))).isEqualTo(PromptMode.EXACT);
    assertThat(model.state().mode()).isEqualTo(PromptMode.EXACT);
    assertThat(model.problems()).singleElement().asString().contains("chat+tools", "engine mode instead of exact");
    assertThat(TestMetrics.sum(registry, "kvasir_prompt_engine_shapes", "m")).isEqualTo(1);
    engine.likeUs = true;
    assertThat(model.needsCheck()).isTrue();
    model.check();
    assertThat(modeOf(chat("other", "tools", TOOLS))).isEqualTo(PromptMode.EXACT);
    assertThat(model.problems()).isEmpty();
    assertThat(model.needsCheck()).isFalse();
  }

  @Test
  void prepare_oneClientsPromptsDifferAndTheProbeDoesNot_nothingChanges() {
    engine.odd = "odd";
    model.check();
    for (int i = 0; i < 50; i++) {
      send("a", Api.CHAT, chat("an odd text " + i));
      send("b", Api.CHAT, chat("another odd text " + i));
    }
    assertThat(modeOf(chat("an odd text 1"))).isEqualTo(PromptMode.EXACT);
    assertThat(model.problems()).isEmpty();
    assertThat(TestMetrics.sum(registry, "kvasir_prompt_parity_checks", "m", "different")).isEqualTo(100);
  }

  @Test
  void prepare_mostOfThreeOrMoreClientsDiffer_theirShapeGoesByTheEngineUntilMostAgree() {
    engine.odd = "odd";
    for (String sender : List.of("a", "b", "c")) {
      assertThat(modeOf(chat("odd"))).isEqualTo(PromptMode.EXACT);
      send(sender, Api.CHAT, chat("odd"));
    }
    assertThat(modeOf(chat(LONG))).isEqualTo(PromptMode.ENGINE);
    assertThat(modeOf(chat(LONG, "tools", TOOLS))).isEqualTo(PromptMode.EXACT);
    assertThat(model.problems()).singleElement().asString().contains("shape chat are", "3 of 3 clients");
    for (String sender : List.of("d", "e", "f")) {
      assertThat(modeOf(chat(LONG))).isEqualTo(PromptMode.ENGINE);
      send(sender, Api.CHAT, chat(LONG));
    }
    assertThat(modeOf(chat(LONG))).isEqualTo(PromptMode.EXACT);
    assertThat(model.problems()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      chat_template          | "{{ messages[0].content }}x"
      chat_template_kwargs   | {'chat_template': '{{ 1 }}'}
      chat_template_kwargs   | {'tools': []}
      messages               | [{'role': 'user', 'content': [{'type': 'image_url'}]}]
      truncate_prompt_tokens | 3
      """)
  void prepare_whatTheEngineCannotBeAskedAbout_isNotCompared(String field, String value) {
    send("a", Api.CHAT, chat(LONG, field, value));
    assertThat(engine.requests).isEmpty();
  }

  @Test
  void prepare_toolsThatMustNotBeCalled_areNotCompared() {
    send("a", Api.CHAT, chat(LONG, "tools", TOOLS).put("tool_choice", "none"));
    assertThat(engine.requests).isEmpty();
    send("a", Api.CHAT, chat(LONG, "tools", TOOLS).put("tool_choice", "required"));
    assertThat(engine.requests).isNotEmpty();
  }

  @Test
  void prepare_withoutSender_isNotCompared() {
    Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG));
    assertThat(engine.requests).isEmpty();
  }

  @Test
  void prepare_engineRefusesOrFails_isNoEvidence() {
    for (IOException failure :
        List.of(new EngineTokenizer.RefusedException("http://pod answered 400"), new IOException("refused"))) {
      engine.failure = failure;
      for (String sender : List.of("a", "b", "c")) {
        send(sender, Api.CHAT, chat(LONG));
      }
    }
    assertThat(modeOf(chat(LONG))).isEqualTo(PromptMode.EXACT);
    assertThat(TestMetrics.sum(registry, "kvasir_prompt_parity_checks", "m", "refused")).isEqualTo(3);
    assertThat(TestMetrics.sum(registry, "kvasir_prompt_parity_checks", "m", "unanswered")).isEqualTo(3);
  }

  @Test
  void prepare_allThatChangesARendering_isInTheQuestion() {
    Prompts configured = load(Map.of("enable_thinking", true, "style", "plain"));
    ObjectNode body = Bodies.object("""
        {'messages': [{'role': 'user', 'content': 'x'}, {'role': 'assistant', 'content': 'y'}],
         'documents': [{'title': 't', 'text': 'd'}], 'reasoning_effort': 'none', 'tools': TOOLS,
         'chat_template_kwargs': {'style': 'ornate', 'reasoning_effort': 'high'},
         'add_generation_prompt': false, 'continue_final_message': true, 'add_special_tokens': true}
        """.replace("TOOLS", TOOLS));
    configured.prepare(new PromptRequest(Api.CHAT, "m", body, false, () -> "a"), configured.limiter().unlimited());
    assertThat(engine.requests.getFirst()).isEqualTo(Bodies.json("""
        {'model': 'm', 'messages': [{'role': 'user', 'content': 'x'}, {'role': 'assistant', 'content': 'y'}],
         'tools': TOOLS, 'chat_template_kwargs': {'style': 'ornate', 'reasoning_effort': 'none',
         'enable_thinking': false, 'documents': [{'title': 't', 'text': 'd'}]},
         'add_generation_prompt': false, 'continue_final_message': true, 'add_special_tokens': true}
        """.replace("TOOLS", TOOLS)));
    engine.requests.clear();
    JsonNode text = Bodies.json("{'prompt': 'x'}");
    configured.prepare(new PromptRequest(Api.COMPLETIONS, "m", text, false, () -> "a"),
        configured.limiter().unlimited());
    assertThat(engine.requests)
        .containsExactly(Bodies.json("{'model': 'm', 'prompt': 'x', 'add_special_tokens': true}"));
  }

  @Test
  void check_neverAnswered_isToldAndTheEngineIsSilent() {
    engine.failure = new IOException("http://pod answered 404");
    for (int i = 0; i < 4; i++) {
      model.check();
    }
    assertThat(model.problems()).isEmpty();
    assertThat(model.isEngineSilent()).isFalse();
    for (int i = 0; i < 4; i++) {
      model.check();
    }
    assertThat(model.problems()).singleElement().asString().contains("8 checks", "http://pod answered 404");
    assertThat(model.isEngineSilent()).isTrue();
    assertThat(TestMetrics.sum(registry, "kvasir_prompt_parity_silent_checks", "m")).isEqualTo(8);
    assertThat(logged.list).filteredOn(event -> event.getFormattedMessage().contains("could not be compared"))
        .hasSize(1);
    engine.failure = null;
    model.check();
    assertThat(model.problems()).isEmpty();
    assertThat(model.isEngineSilent()).isFalse();
    assertThat(TestMetrics.sum(registry, "kvasir_prompt_parity_silent_checks", "m")).isZero();
  }

  @Test
  void prepare_wordsOfMegabytes_areToldOnce() {
    for (int i = 0; i < 3; i++) {
      send("a", Api.COMPLETIONS, Bodies.object("{}").put("prompt", "a".repeat((1 << 20) + 8 + i)));
    }
    assertThat(logged.list).filteredOn(event -> event.getLevel().isGreaterOrEqual(Level.WARN))
        .extracting(ILoggingEvent::getFormattedMessage).singleElement().asString().contains("the tokenizer failed");
  }

  /** A fault of ours must not look like one of the client's. */
  @Test
  void prepare_faultOfOurs_isLoggedOnceAndCounted() {
    @SuppressWarnings("unchecked") // Of ObjectNode's own methods.
    ObjectNode body = new ObjectNode(JsonNodeFactory.instance) {
      private static final long serialVersionUID = 1L;

      @Override
      public JsonNode path(String field) {
        throw new IllegalStateException("SECRET");
      }
    };
    for (int i = 0; i < 3; i++) {
      assertThat(send("a", Api.CHAT, body))
          .returns(PromptMode.NONE, Prompt::mode)
          .returns(PromptReason.FAILED, Prompt::reason);
    }
    assertThat(logged.list).filteredOn(event -> event.getLevel().isGreaterOrEqual(Level.WARN))
        .extracting(ILoggingEvent::getFormattedMessage).singleElement().asString().contains("could not be prepared");
    assertThat(logLines()).contains("IllegalStateException").doesNotContain("SECRET");
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "{'messages': [{'role': 'user', 'content': 'SECRET odd'}]}",
      "{'messages': [{'role': 'user', 'content': 'SECRET odd'}], 'tools': TOOLS}",
      "{'messages': [{'role': 'SECRET', 'content': {'SECRET': 'odd'}}]}",
      "{'messages': [{'role': 'user', 'content': [{'type': 'SECRET'}]}]}",
      "{'messages': ['SECRET'], 'tools': 'SECRET'}",
      "{'messages': [{'role': 'user', 'content': 'x'}], 'chat_template': '{{ SECRET() }}'}",
      "{'messages': [{'role': 'user', 'content': 'x'}], 'chat_template': '{{ raise_exception(\\'SECRET\\') }}'}",
      "{'messages': [{'role': 'user', 'content': 'x'}], 'chat_template': '{% SECRET %}'}"
  })
  void prepare_anyPrompt_leavesNoTextInLogMetricsOrReadiness(String text) throws IOException {
    engine.odd = "odd";
    JsonNode body = Bodies.json(text.replace("TOOLS", TOOLS.replace("'f'", "'SECRET'")));
    for (String sender : List.of("a", "b", "c", "d")) {
      send(sender, Api.CHAT, body);
      model.check();
    }
    engine.ending = "<think>";
    send("e", Api.CHAT, chat("SECRET"));
    assertThat(model.state().mode()).isEqualTo(PromptMode.ENGINE);
    send("e", Api.CHAT, body);
    engine.failure = new IOException("late");
    send("f", Api.CHAT, body);
    assertThat(logLines()).contains("differ from the engine's").doesNotContain("SECRET");
    assertThat(model.problems().toString()).isNotEmpty().doesNotContain("SECRET");
    assertThat(metrics()).doesNotContain("SECRET");
  }
}
