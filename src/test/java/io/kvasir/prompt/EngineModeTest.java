package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.http.Cancellation;
import io.kvasir.index.Chain;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.prompt.tokens.Samples;
import io.kvasir.prompt.tokens.Texts;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.time.ManualClock;
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Engine mode. */
final class EngineModeTest {
  private static final Tokenizer DEMO = Samples.demo();
  private static final int LARGE = 1 << 20;
  private static final String LONG = new Texts(3).prose(700);

  private final DemoEngine engine = new DemoEngine();
  private final ManualClock clock = new ManualClock();
  private final PrometheusRegistry registry = new PrometheusRegistry();

  private Prompts prompts(PromptMode mode, double sample) throws IOException {
    return Prompts.load(
        List.of(
            new ModelConfig(
                "m", Set.of("tuned"), 16, mode, ModelConfig.FileSources.in("bundled:kvasir-demo"), Map.of(), sample,
                false)),
        PromptSettings.ofMemo(1 << 20), model -> engine, Runnable::run, Clock.systemUTC(), clock,
        new Metrics(registry));
  }

  private Prompts prompts(EngineTokenizer tokenizer) throws IOException {
    return Prompts.load(
        List.of(
            new ModelConfig(
                "m", Set.of(), 16, PromptMode.ENGINE, ModelConfig.FileSources.in("bundled:kvasir-demo"), Map.of(), 0,
                false)),
        new PromptSettings(1 << 20, 1, Duration.ofMinutes(1)), _ -> tokenizer, Runnable::run, Clock.systemUTC(),
        clock, new Metrics(registry));
  }

  private static void await(CountDownLatch latch) {
    try {
      assertThat(latch.await(60, TimeUnit.SECONDS)).isTrue();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
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
    Prompt first = Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG));
    int[] ids = DEMO.encode("<|im_start|>user\n" + LONG + DemoEngine.ENDING, false);
    Chain chain = PrefixMemo.ofIds(BlockNamespace.of("m", 16, null, null), ids).chain();
    assertThat(first).isEqualTo(new Prompt(chain, ids.length, PromptMode.ENGINE, PromptReason.AS_CONFIGURED, null));
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG))).isEqualTo(first);
    assertThat(engine.requests).hasSize(1);
    assertThat(Bodies.prepare(prompts, Api.CHAT, "tuned", chat(LONG)).chain()).isNotEqualTo(first.chain());
    assertThat(engine.requests).extracting(request -> request.get("model").asText()).containsExactly("m", "tuned");
  }

  /** The engine's template may be another, and it is not bound by our limits. */
  @Test
  void prepare_templateFails_theEngineTokenises(@TempDir Path dir) throws IOException {
    Path template = Files.writeString(dir.resolve("t.jinja"), "{{ messages + 1 }}");
    Prompts prompts =
        Prompts.load(
            List.of(
                new ModelConfig(
                    "m", Set.of(), 16, PromptMode.EXACT,
                    new ModelConfig.FileSources("bundled:kvasir-demo", null, template.toString()), Map.of(), 0, false)),
            PromptSettings.ofMemo(1 << 20), _ -> engine, Runnable::run, Clock.systemUTC(), clock,
            new Metrics(registry));
    int[] ids = DEMO.encode("<|im_start|>user\nhi" + DemoEngine.ENDING, false);
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat("hi")))
        .isEqualTo(
            new Prompt(
                PrefixMemo.ofIds(BlockNamespace.of("m", 16, null, null), ids).chain(), ids.length, PromptMode.ENGINE,
                PromptReason.TEMPLATE_FAILED, null));
    engine.failure = new IOException("down");
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat("hello")))
        .returns(PromptMode.TEXT, Prompt::mode)
        .returns(PromptReason.TEMPLATE_FAILED, Prompt::reason);
    assertThat(prompts.models().iterator().next().problems()).extracting(Problem::what)
        .as("each is rendered once").anyMatch(what -> what.contains("2 conversations"));
  }

  /** Engines of two makes, of which each tokenises what it is asked for in its own way. */
  private static final class TwoMakes implements EngineTokenizer {
    private static final SglangVersion SGLANG = new SglangVersion(0, 5, 23, null);
    private static final VllmVersion VLLM = new VllmVersion(0, 33);

    private final Map<EngineVersion, List<JsonNode>> asked = Map.of(SGLANG, new ArrayList<>(), VLLM, new ArrayList<>());

    @Override
    public List<EngineVersion> versions() {
      return List.of(SGLANG, VLLM);
    }

    @Override
    public int[] tokenize(String jsonBody) throws IOException {
      throw new IOException("any of them");
    }

    @Override
    public int[] tokenize(String jsonBody, EngineVersion version) {
      JsonNode body = Bodies.parse(jsonBody);
      Objects.requireNonNull(asked.get(version)).add(body);
      return DEMO.encode(body.at("/messages/0/content").asText() + (body.has("tools") ? version : ""), false);
    }
  }

  /** Without the model's files, too: what is asked of an engine depends on its make. */
  @Test
  void prepare_engineMode_asksAnEngineOfEachMake_andEachHasItsRendition() throws IOException {
    TwoMakes engines = new TwoMakes();
    Prompts prompts = Prompts.load(
        List.of(new ModelConfig(
            "m", Set.of(), 16, PromptMode.ENGINE, ModelConfig.FileSources.NONE, Map.of(), 0, false)),
        PromptSettings.ofMemo(1 << 20), _ -> engines, Runnable::run, Clock.systemUTC(), clock, new Metrics(registry));
    prompts.models().forEach(PromptModel::learnEngineVersions);
    ObjectNode body = Bodies.object(
        "{'messages': [], 'tools': [{'type': 'function', 'function': {'name': 'f'}}], 'tool_choice': 'auto'}");
    body.withArray("messages").addObject().put("role", "user").put("content", LONG);

    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "m", body);

    assertThat(prompt.tokens()).isEqualTo(DEMO.encode(LONG + TwoMakes.SGLANG, false).length);
    assertThat(prompt.renditions()).singleElement().satisfies(other -> {
      assertThat(other.preparation()).isEqualTo("vLLM 0.33");
      assertThat(other.tokens()).isEqualTo(DEMO.encode(LONG + TwoMakes.VLLM, false).length);
      assertThat(other.chain().length()).isPositive();
      assertThat(other.chain()).isNotEqualTo(prompt.chain());
    });
    assertThat(engines.asked.get(TwoMakes.SGLANG)).singleElement()
        .satisfies(asked -> assertThat(asked.has("tool_choice")).isTrue());
    assertThat(engines.asked.get(TwoMakes.VLLM)).singleElement()
        .satisfies(asked -> assertThat(asked.has("add_generation_prompt")).isTrue());
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG)).renditions()).as("the same for both").isEmpty();
  }

  @Test
  void prepare_engineMode_asksForTheTextBeforeAnImage() throws IOException {
    ObjectNode body = chat(LONG);
    body.withArray("messages").add(Bodies.json("{'role': 'user', 'content': [{'type': 'image_url'}]}"));
    Prompt prompt = Bodies.prepare(prompts(PromptMode.ENGINE, 0), Api.CHAT, "m", body);
    assertThat(prompt.reason()).isEqualTo(PromptReason.MULTIMODAL);
    assertThat(prompt.chain().length()).isPositive();
    assertThat(engine.requests.getFirst().get("messages")).hasSize(1);
  }

  @Test
  void prepare_engineFails_chunksTextAndLeavesItAloneForAWhile() throws IOException {
    Prompts prompts = prompts(PromptMode.ENGINE, 0);
    engine.failure = new IOException("connection refused");
    for (int i = 0; i < 5; i++) {
      Prompt prompt = Bodies.prepare(prompts, Api.COMPLETIONS, "m", Bodies.object("{}").put("prompt", LONG + i));
      assertThat(prompt.mode()).isEqualTo(PromptMode.TEXT);
      assertThat(prompt.reason()).isEqualTo(PromptReason.ENGINE_FAILED);
    }
    assertThat(engine.requests).hasSize(1);
    assertThat(metrics()).contains(
        "kvasir_prompt_mode{mode=\"text\",model=\"m\"} 1.0", "kvasir_prompt_mode{mode=\"engine\",model=\"m\"} 0.0");
    assertThat(prompts.models().iterator().next().problems()).extracting(Problem::what).containsExactly(
        "model m: prompts that its engine has to tokenise are routed by their text, because it does not answer:"
            + " connection refused");
    engine.failure = null;
    clock.advance(Duration.ofMillis(249));
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG)).mode()).isEqualTo(PromptMode.TEXT);
    assertThat(engine.requests).hasSize(1);
    clock.advance(Duration.ofMillis(1));
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG)).mode()).isEqualTo(PromptMode.ENGINE);
    assertThat(metrics())
        .contains("kvasir_prompts_total{mode=\"text\",model=\"m\",why=\"engine_failed\"} 6.0")
        .contains("kvasir_prompt_mode{mode=\"engine\",model=\"m\"} 1.0");
    assertThat(prompts.models().iterator().next().problems()).isEmpty();
  }

  @Test
  void prepare_engineRefuses_remembersThatForAMinuteAndGoesByText() throws IOException {
    Prompts prompts = prompts(PromptMode.ENGINE, 0);
    engine.failure = new EngineTokenizer.RefusedException("http://pod answered 400");
    for (int i = 0; i < 3; i++) {
      Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG));
      assertThat(prompt.mode()).isEqualTo(PromptMode.TEXT);
      assertThat(prompt.reason()).isEqualTo(PromptReason.ENGINE_REFUSED);
      assertThat(prompt.chain().length()).isPositive();
    }
    assertThat(engine.requests).hasSize(1);
    clock.advance(Duration.ofSeconds(61));
    engine.failure = null;
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG)).mode()).isEqualTo(PromptMode.ENGINE);
  }

  private static String problem(Prompts prompts) {
    List<Problem> problems = prompts.models().iterator().next().problems();
    assertThat(problems).hasSizeLessThan(2);
    return problems.isEmpty() ? "" : problems.getFirst().what();
  }

  /** As one that has no such API for conversations. Any client can cause some refusals. */
  @Test
  void prepare_engineRefusesEverything_isAProblemUntilItDoesNot() throws IOException {
    Prompts prompts = prompts(PromptMode.ENGINE, 0);
    engine.failure = new EngineTokenizer.RefusedException("http://pod answered 500");
    for (int i = 1; i < CachingEngineTokenizer.ALL_REFUSED; i++) {
      Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG + i));
    }
    assertThat(problem(prompts)).isEmpty();
    assertThat(metrics()).contains("kvasir_prompt_mode{mode=\"engine\",model=\"m\"} 1.0");
    Bodies.prepare(prompts, Api.CHAT, "m", chat("one more"));
    assertThat(problem(prompts)).contains("are routed by their text, because it refused the latest 16", "answered 500");
    assertThat(metrics()).contains("kvasir_prompt_mode{mode=\"text\",model=\"m\"} 1.0");
    engine.failure = null;
    Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG));
    assertThat(problem(prompts)).isEmpty();
    assertThat(metrics()).contains("kvasir_prompt_mode{mode=\"engine\",model=\"m\"} 1.0");
  }

  @ParameterizedTest
  @MethodSource("enginesForTextsAlone")
  void prepare_engineTokenisesTextsAlone_isNotAskedForConversations(EngineVersion version) throws IOException {
    Prompts prompts =
        Prompts.load(
            List.of(ModelConfig.engine("m")), PromptSettings.ofMemo(1 << 20), _ -> engine, Runnable::run,
            Clock.systemUTC(), clock, new Metrics(registry));
    engine.version = version;
    prompts.models().forEach(PromptModel::learnEngineVersions);
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG)))
        .returns(PromptMode.TEXT, Prompt::mode)
        .returns(PromptReason.ENGINE_REFUSED, Prompt::reason);
    assertThat(Bodies.tokens(prompts, Api.CHAT, "m", chat(LONG), false)).isNull();
    assertThat(engine.requests).isEmpty();
    assertThat(problem(prompts)).contains("conversations are routed by their text", version.toString());
    assertThat(Bodies.prepare(prompts, Api.COMPLETIONS, "m", Bodies.object("{}").put("prompt", LONG)).mode())
        .isEqualTo(PromptMode.ENGINE);
  }

  static List<EngineVersion> enginesForTextsAlone() {
    return List.of(TensorRtVersion.of("1.3.0"), SglangVersion.of("0.5.11", null));
  }

  /** Where prompts seldom need the engine, it may be hours until one shows that it is back. */
  @Test
  void problems_engineHasNotFailedForAWhile_none() throws IOException {
    Prompts prompts = prompts(PromptMode.ENGINE, 0);
    engine.failure = new IOException("restarting");
    Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG));
    clock.advance(TemplateFailures.REPORTED.minusNanos(1));
    assertThat(problem(prompts)).contains("restarting");
    clock.advance(Duration.ofNanos(1));
    assertThat(problem(prompts)).isEmpty();
    Bodies.prepare(prompts, Api.CHAT, "m", chat("another"));
    assertThat(problem(prompts)).contains("restarting");
  }

  @Test
  void problems_engineAnswersAComparison_none(@TempDir Path dir) throws IOException {
    Path template = Files.writeString(
        dir.resolve("t.jinja"), "{{ messages + 1 if messages|length == 1 else messages[0].content }}");
    Prompts prompts =
        Prompts.load(
            List.of(
                new ModelConfig(
                    "m", Set.of(), 16, PromptMode.EXACT,
                    new ModelConfig.FileSources("bundled:kvasir-demo", null, template.toString()), Map.of(), 0, false)),
            PromptSettings.ofMemo(1 << 20), _ -> engine, Runnable::run, Clock.systemUTC(), clock,
            new Metrics(registry));
    PromptModel model = prompts.models().iterator().next();
    engine.failure = new IOException("restarting");
    Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG));
    assertThat(model.problems()).extracting(Problem::what).anyMatch(what -> what.contains("restarting"));
    engine.failure = null;
    model.check();
    assertThat(model.problems()).extracting(Problem::what).noneMatch(what -> what.contains("restarting"));
  }

  @Test
  void tokens_ofAPromptThatWasPrepared_areNotAskedForAgain() throws IOException {
    Prompts prompts = prompts(PromptMode.ENGINE, 0);
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG));
    assertThat(Bodies.tokens(prompts, Api.CHAT, "m", chat(LONG), false)).hasSize(prompt.tokens());
    assertThat(engine.requests).hasSize(1);
  }

  @Test
  void tokens_engineFailsOrRefuses_isLeftAloneForAWhile() throws IOException {
    Prompts prompts = prompts(PromptMode.ENGINE, 0);
    engine.failure = new EngineTokenizer.RefusedException("http://pod answered 400");
    Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG));
    assertThat(Bodies.tokens(prompts, Api.CHAT, "m", chat(LONG), false)).isNull();
    assertThat(engine.requests).hasSize(1);
    engine.failure = new IOException("down");
    for (int i = 0; i < 3; i++) {
      assertThat(Bodies.tokens(prompts, Api.CHAT, "m", chat("other " + i), false)).isNull();
    }
    assertThat(engine.requests).hasSize(2);
    assertThat(problem(prompts)).contains("it does not answer: down");
  }

  @Test
  void prepare_manyRefusedAtOnce_doNotSilenceTheEngineForOthers() throws Exception {
    int bad = 64;
    CountDownLatch asked = new CountDownLatch(bad);
    Prompts prompts = prompts(body -> {
      if (body.contains("good")) {
        return DEMO.encode("good", true);
      }
      asked.countDown();
      await(asked);
      throw new EngineTokenizer.RefusedException("http://pod answered 400");
    });
    try (ExecutorService clients = Executors.newVirtualThreadPerTaskExecutor()) {
      List<Future<Prompt>> refused = new ArrayList<>();
      for (int i = 0; i < bad; i++) {
        JsonNode body = Bodies.json("{'messages': [{'role': " + i + "}]}");
        refused.add(clients.submit(() -> Bodies.prepare(prompts, Api.CHAT, "m", body)));
      }
      for (Future<Prompt> each : refused) {
        each.get();
      }
    }
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat("good")).mode()).isEqualTo(PromptMode.ENGINE);
  }

  @Test
  void prepare_concurrentFailures_lengthenThePauseOnce() throws Exception {
    int calls = 5;
    CountDownLatch asked = new CountDownLatch(calls);
    Semaphore failing = new Semaphore(0);
    AtomicBoolean up = new AtomicBoolean();
    Prompts prompts = prompts(body -> {
      if (up.get()) {
        return DEMO.encode("good", true);
      }
      asked.countDown();
      failing.acquireUninterruptibly();
      throw new IOException("late");
    });
    BlockingQueue<Prompt> failed = new LinkedBlockingQueue<>();
    for (int i = 0; i < calls; i++) {
      ObjectNode body = chat(LONG + i);
      Thread.ofVirtual().start(() -> failed.add(Bodies.prepare(prompts, Api.CHAT, "m", body)));
    }
    await(asked);
    for (int i = 0; i < calls; i++) {
      failing.release();
      assertThat(failed.take().reason()).isEqualTo(PromptReason.ENGINE_FAILED);
      clock.advance(Duration.ofMillis(250));
    }
    up.set(true);
    assertThat(Bodies.prepare(prompts, Api.CHAT, "m", chat(LONG)).mode()).isEqualTo(PromptMode.ENGINE);
  }

  @Test
  void prepare_largePrompt_hasNoPermitWhileItWaitsForTheEngine() throws Exception {
    AtomicReference<Prompts> loaded = new AtomicReference<>();
    AtomicInteger calls = new AtomicInteger();
    Prompts prompts = prompts(body -> {
      calls.incrementAndGet();
      try (Permit other = Objects.requireNonNull(loaded.get()).limiter().tryAcquire(LARGE)) {
        assertThat(other).isNotNull();
      }
      return DEMO.encode("good", true);
    });
    loaded.set(prompts);
    PromptRequest request = new PromptRequest(Api.CHAT, "m", chat(LONG), false, null);
    try (Permit permit = prompts.limiter().acquire(LARGE, Cancellation.NONE)) {
      assertThat(prompts.limiter().tryAcquire(LARGE)).isNull();
      assertThat(prompts.prepare(request, permit).mode()).isEqualTo(PromptMode.ENGINE);
    }
    assertThat(calls).hasValue(1);
  }

  @Test
  void ids_answersOfEngines_areRead() throws IOException {
    assertThat(EngineTokenizer.ids(Bodies.json("{'count': 2, 'tokens': [5, 7]}"))).containsExactly(5, 7);
    assertThat(EngineTokenizer.ids(Bodies.json("{'tokens': [2147483648, 4294967295]}")))
        .containsExactly(Integer.MIN_VALUE, -1);
    for (String bad : List.of("4294967296", "-1", "1.5", "99999999999999999999")) {
      assertThatThrownBy(() -> EngineTokenizer.ids(Bodies.json("{'tokens': [0, " + bad + "]}")))
          .hasMessageContaining("[1]");
    }
    assertThatThrownBy(() -> EngineTokenizer.ids(Bodies.json("{'error': 'x'}"))).hasMessageContaining("tokens");
    assertThatThrownBy(() -> EngineTokenizer.ids(Bodies.json("{'tokens': ['a']}"))).hasMessageContaining("[0]");
  }
}
