package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.http.CancellationSource;
import io.kvasir.index.BlockHash;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.tokens.Samples;
import io.kvasir.prompt.tokens.Texts;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class PromptsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String LONG = new Texts(1).prose(600);

  private final Prompts prompts = load(
      new ModelConfig(
          "demo", Set.of("my-lora"), 16, PromptMode.EXACT, ModelConfig.FileSources.in("bundled:kvasir-demo"),
          Map.of(), 0, false),
      ModelConfig.text("text"));

  private static Prompts load(ModelConfig... configs) {
    try {
      return Prompts.load(List.of(configs), PromptSettings.ofMemo(1 << 20), _ -> null, Runnable::run, Clock.systemUTC(),
          NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private static JsonNode json(String text) {
    try {
      return JSON.readTree(text.replace('\'', '"').replace("LONG", JSON.writeValueAsString(LONG)));
    } catch (JsonProcessingException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void separate_preparesTheSamePrompts_andCountsThemElsewhere() throws Exception {
    PrometheusRegistry own = new PrometheusRegistry();
    PrometheusRegistry others = new PrometheusRegistry();
    Prompts loaded =
        Prompts.load(
            List.of(ModelConfig.demo("demo", 16)), PromptSettings.ofMemo(1 << 20), _ -> null, Runnable::run,
            Clock.systemUTC(), NanoClock.SYSTEM, new Metrics(own));
    Prompts separate =
        loaded.separate(List.of("demo"), PromptSettings.ofMemo(1 << 20), NanoClock.SYSTEM, new Metrics(others));
    JsonNode body = json("{'messages': [{'role': 'user', 'content': LONG}]}");

    Prompt prompt = Bodies.prepare(separate, Api.CHAT, "demo", body);

    assertThat(prompt.mode()).isEqualTo(PromptMode.EXACT);
    assertThat(samples(own)).allMatch(count -> count == 0);
    assertThat(samples(others)).anyMatch(count -> count > 0);
    assertThat(prompt.chain().hashes()).isEqualTo(Bodies.prepare(loaded, Api.CHAT, "demo", body).chain().hashes());
    assertThat(samples(own)).anyMatch(count -> count > 0);
  }

  /** The values of the counters. */
  private static List<Double> samples(PrometheusRegistry registry) {
    return registry.scrape().stream()
        .filter(CounterSnapshot.class::isInstance)
        .flatMap(metric -> ((CounterSnapshot) metric).getDataPoints().stream())
        .map(CounterSnapshot.CounterDataPointSnapshot::getValue)
        .toList();
  }

  @Test
  void prepare_givenIds_hashesThemAsDynamoDoes() {
    StringBuilder ids = new StringBuilder("1");
    for (int i = 2; i <= 40; i++) {
      ids.append(',').append(i);
    }
    for (String body : List.of("{'prompt': [" + ids + "]}", "{'prompt': [[" + ids + "], [9]]}")) {
      Prompt prompt = Bodies.prepare(prompts, Api.COMPLETIONS, "demo", json(body));
      assertThat(LongStream.of(prompt.chain().hashes()).mapToObj(Long::toUnsignedString))
.containsExactly("16863443419780771464", "12466389667045779788");
      assertThat(prompt).extracting(Prompt::tokens, Prompt::mode, Prompt::reason)
          .containsExactly(40, PromptMode.EXACT, PromptReason.AS_CONFIGURED);
    }
    JsonNode plain = json("{'prompt': [" + ids + "]}");
    assertThat(Bodies.prepare(prompts, Api.COMPLETIONS, "my-lora", plain).chain().hashes()[0])
        .isEqualTo(4148081000444450790L);
    JsonNode salted = json("{'cache_salt': 'tenant-a', 'prompt': [" + ids + "]}");
    assertThat(Bodies.prepare(prompts, Api.COMPLETIONS, "demo", salted).chain().hashes()[0])
        .isEqualTo(8175209796170318505L);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      COMPLETIONS | {'prompt': LONG}
      COMPLETIONS | {'prompt': [LONG, 'another']}
      COMPLETIONS | {'prompt': LONG, 'echo': true}
      COMPLETIONS | {'prompt': LONG, 'echo': false, 'logprobs': 3, 'prompt_logprobs': null}
      EMBEDDINGS  | {'input': LONG}
      EMBEDDINGS  | {'input': [LONG]}
      """)
  void prepare_text_isTheTokenizersTokens(Api api, String body) {
    Prompt prompt = Bodies.prepare(prompts, api, "demo", json(body));
    int[] ids = Samples.demo().encode(LONG, true);
    assertThat(prompt.mode()).isEqualTo(PromptMode.EXACT);
    assertThat(prompt.tokens()).isEqualTo(ids.length);
    long[] expected = new long[ids.length / 16];
    BlockHash.in(null, null).chain(BlockHash.NONE, ids, 0, ids.length, 16, expected, 0);
    assertThat(prompt.chain().hashes()).containsExactly(expected);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      COMPLETIONS | {}                                                        | UNREADABLE
      COMPLETIONS | []                                                        | UNREADABLE
      COMPLETIONS | {'prompt': 3}                                             | UNREADABLE
      COMPLETIONS | {'prompt': {}}                                            | UNREADABLE
      COMPLETIONS | {'prompt': [1, 'a']}                                      | UNREADABLE
      COMPLETIONS | {'prompt': [99999999999]}                                 | UNREADABLE
      COMPLETIONS | {'prompt': [-1]}                                          | UNREADABLE
      COMPLETIONS | {'prompt': [[[1]]]}                                       | UNREADABLE
      COMPLETIONS | {'prompt': 'a', 'truncate_prompt_tokens': 5}              | ALTERED
      RESPONSES   | {'input': 'a', 'previous_input_messages': [{}]}           | ALTERED
      COMPLETIONS | {'prompt_embeds': 'AAAA'}                                 | ALTERED
      CHAT        | {'messages': 'hello'}                                     | UNREADABLE
      CHAT        | {'messages': []}                                          | UNREADABLE
      CHAT        | null                                                      | UNREADABLE
      RESPONSES   | {'input': 'x', 'previous_response_id': 'resp_1'}          | STORED_RESPONSE
      COMPLETIONS | {'prompt': LONG, 'prompt_logprobs': 0}                    | CACHE_UNREAD
      COMPLETIONS | {'prompt': LONG, 'echo': true, 'logprobs': 0}             | CACHE_UNREAD
      COMPLETIONS | {'prompt': [1, 2], 'echo': true, 'logprobs': 1}           | CACHE_UNREAD
      CHAT        | {'messages': [{'role': 'user', 'content': 'a'}], 'prompt_logprobs': 1} | CACHE_UNREAD
      CHAT        | {'messages': [{'role': 'user', 'content': 'a'}], 'echo': true}         | CACHE_UNREAD
      """)
  void prepare_promptThatCannotBeKnown_saysWhy(Api api, String body, PromptReason why) {
    Prompt prompt = Bodies.prepare(prompts, api, "demo", json(body));
    assertThat(prompt.mode()).isEqualTo(PromptMode.NONE);
    assertThat(prompt.reason()).isEqualTo(why);
    assertThat(prompt.chain().length()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"text", "nobody-knows-me"})
  void prepare_withoutTokenizer_chainsChunksOf32Bytes(String model) {
    Prompt shorter = Bodies.prepare(prompts, Api.COMPLETIONS, model, json("{'prompt': LONG}"));
    assertThat(shorter.mode()).isEqualTo(PromptMode.TEXT);
    assertThat(shorter.chain().blockSize()).isEqualTo(8);
    assertThat(shorter.chain().length()).isEqualTo(LONG.length() / 32);
    assertThat(shorter.tokens()).isEqualTo(LONG.length() / 4);
    Prompt longer = Bodies.prepare(prompts, Api.COMPLETIONS, model, JSON.createObjectNode().put("prompt", LONG + LONG));
    assertThat(longer.chain().hashes()).startsWith(shorter.chain().hashes());
    Prompt other = Bodies.prepare(prompts, Api.COMPLETIONS, model, JSON.createObjectNode().put("prompt", "x" + LONG));
    assertThat(other.chain().hashes()).doesNotContain(shorter.chain().hashes()[0]);
  }

  @ParameterizedTest
  @ValueSource(strings = {"Where is the old library, please? ", "Где находится старая библиотека? ", "请问旧图书馆在什么地方？"})
  void prepare_textInAnyScriptWithoutTokenizer_hasTheTokensOfItsChunks(String sentence) {
    Prompt prompt = Bodies.prepare(
        prompts, Api.COMPLETIONS, "text", JSON.createObjectNode().put("prompt", sentence.repeat(100)));
    int beyond = prompt.tokens() - prompt.chain().length() * prompt.chain().blockSize();
    assertThat(beyond).isBetween(0, prompt.chain().blockSize() - 1);
  }

  @Test
  void prepare_wordOfMegabytes_isComparedByItsText() {
    Prompt prompt = Bodies.prepare(
        prompts, Api.COMPLETIONS, "demo", JSON.createObjectNode().put("prompt", "a".repeat(2 << 20)));
    assertThat(prompt).extracting(Prompt::tokens, Prompt::mode, Prompt::reason)
        .containsExactly(1 << 19, PromptMode.TEXT, PromptReason.TOKENIZER_FAILED);
  }

  @Test
  void prepare_clientOfALargePromptHasLeft_stops() throws Exception {
    JsonNode body = JSON.createObjectNode().put("prompt", new Texts(4).prose(150_000));
    PromptRequest request = new PromptRequest(Api.COMPLETIONS, "demo", body, false, null);
    CancellationSource client = new CancellationSource();
    try (Permit permit = prompts.limiter().acquire(1 << 20, client)) {
      client.cancel();
      assertThatThrownBy(() -> prompts.prepare(request, permit)).isInstanceOf(CancellationException.class);
    }
  }

  @Test
  void learn_sameNameWithOtherFiles_remembersNothingOfTheFormerTokenizer(@TempDir Path dir) throws Exception {
    Files.write(dir.resolve("tokenizer.json"), Samples.bytes("/tokenizers/llama3.json"));
    JsonNode body = json("{'prompt': LONG}");
    Prompts learnt = load();
    learnt.learn(ModelConfig.demo("m", 16));
    Bodies.prepare(learnt, Api.COMPLETIONS, "m", body);
    learnt.forget("m");

    learnt.learn(
        new ModelConfig(
            "m", Set.of(), 16, PromptMode.EXACT, ModelConfig.FileSources.in(dir.toString()), Map.of(), 0, false));

    Prompt prompt = Bodies.prepare(learnt, Api.COMPLETIONS, "m", body);
    assertThat(prompt.tokens()).isEqualTo(Samples.tokenizer("llama3").encode(LONG, true).length);
  }

  @Test
  void load_whatCannotBe_namesTheModelAndTheRemedy() {
    ModelConfig missing =
        new ModelConfig(
            "m", Set.of(), 16, PromptMode.EXACT, ModelConfig.FileSources.in("/nowhere"), Map.of(), 0, false);
    ModelConfig engine =
        new ModelConfig("e", Set.of(), 16, PromptMode.ENGINE, ModelConfig.FileSources.NONE, Map.of(), 0, false);
    assertThatThrownBy(() -> load(missing)).hasMessageContaining("model m: no tokenizer.json");
    assertThatThrownBy(() -> load(engine)).hasMessageContaining("model e: mode engine needs");
    assertThatThrownBy(() -> load(ModelConfig.text("a"), ModelConfig.text("a"))).hasMessageContaining("named a");
    ModelConfig.FileSources none = ModelConfig.FileSources.NONE;
    assertThatThrownBy(() -> new ModelConfig("b", Set.of(), 0, PromptMode.TEXT, none, Map.of(), 0, false))
        .hasMessageContaining("block size");
  }
}
