package io.kvasir.prompt;

import static io.kvasir.prompt.Bodies.json;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.index.Chain;
import io.kvasir.index.Rendition;
import io.kvasir.prompt.chat.EngineGroup;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.prompt.tokens.Samples;
import io.kvasir.prompt.tokens.Texts;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.ManualClock;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Conversations, from body to chain. */
final class ChatPromptsTest {
  private static final String LONG = new Texts(2).prose(900);
  private static final BlockNamespace PLAIN = BlockNamespace.of("demo", 16, null, null);
  private static final Tokenizer DEMO = Samples.demo();

  private static Prompts prompts(ModelConfig config) throws IOException {
    return prompts(config, NanoClock.SYSTEM);
  }

  private static Prompts prompts(ModelConfig config, NanoClock clock) throws IOException {
    return Prompts.load(List.of(config), PromptSettings.ofMemo(1 << 20), _ -> null, Runnable::run, Clock.systemUTC(),
        clock, new Metrics(new PrometheusRegistry()));
  }

  private static ModelConfig template(Path dir, PromptMode mode, String template) throws IOException {
    Path file = Files.writeString(dir.resolve("t.jinja"), template);
    return new ModelConfig(
        "demo", Set.of(), 16, mode, new ModelConfig.FileSources("bundled:kvasir-demo", null, file.toString()),
        Map.of(), 0, false);
  }

  private static Chain chain(String text) {
    return PrefixMemo.ofIds(PLAIN, DEMO.encode(text, false)).chain();
  }

  private static ObjectNode conversation(String... rolesAndContents) {
    ObjectNode body = Bodies.object("{'messages': []}");
    for (int i = 0; i < rolesAndContents.length; i += 2) {
      body.withArray("messages").addObject().put("role", rolesAndContents[i]).put("content", rolesAndContents[i + 1]);
    }
    return body;
  }

  @Test
  void prepare_templateBeyondItsLimits_goesByTextAndIsCounted(@TempDir Path dir) throws IOException {
    PrometheusRegistry registry = new PrometheusRegistry();
    Prompts prompts = Prompts.load(
        List.of(template(dir, PromptMode.EXACT, "{{ messages[0].content * 1000000 }}")), PromptSettings.ofMemo(1 << 20),
        _ -> null, Runnable::run, Clock.systemUTC(), NanoClock.SYSTEM, new Metrics(registry));
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", conversation("user", LONG));
    assertThat(prompt.reason()).isEqualTo(PromptReason.TEMPLATE_LIMIT);
    assertThat(prompt.mode()).isEqualTo(PromptMode.TEXT);
    assertThat(prompt.chain().length()).isPositive();
    assertThat(TestMetrics.sum(registry, "kvasir_prompts", "demo", "text", "template_limit")).isEqualTo(1);
    assertThat(degraded(prompts)).singleElement().asString()
        .startsWith("model demo: 1 conversations could not be rendered here").contains("characters of text");
  }

  @Test
  void prepare_followsTheEnginesVersion() throws IOException {
    VersionedEngine engine = new VersionedEngine(new VllmVersion(0, 31));
    Prompts prompts = Prompts.load(List.of(ModelConfig.demo("demo", 16)), PromptSettings.ofMemo(1 << 20), _ -> engine,
        Runnable::run, Clock.systemUTC(), NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));
    ObjectNode body = conversation("system", "x-anthropic-billing-header: 1\nBe brief.", "user", LONG);
    PromptModel model = prompts.models().iterator().next();

    assertThat(text(prompts, body)).as("not known: as the newest").doesNotContain("billing");
    model.learnEngineVersions();
    assertThat(text(prompts, body)).contains("x-anthropic-billing-header: 1\nBe brief.");
    engine.versions = List.of();
    model.learnEngineVersions();
    assertThat(text(prompts, body)).as("as before").contains("billing");
    engine.versions = List.of(new VllmVersion(0, 32));
    model.learnEngineVersions();
    assertThat(text(prompts, body)).doesNotContain("billing").contains("Be brief.");
  }

  /** What an engine takes no notice of parts no prompts. */
  @Test
  void prepare_saltedRequest_isApartWhereEnginesReadItsSalt() throws IOException {
    SglangVersion before = new SglangVersion(0, 5, 17, null);
    SglangVersion since = new SglangVersion(0, 5, 18, null);
    VllmVersion without = new VllmVersion(0, 26);
    VllmVersion with = new VllmVersion(0, 27);
    ObjectNode response = Bodies.object("{}").put("input", LONG);
    ObjectNode message = conversation("user", LONG);

    assertThat(parts(Api.RESPONSES, before, response)).isFalse();
    assertThat(parts(Api.RESPONSES, since, response)).isTrue();
    assertThat(parts(Api.RESPONSES, without, response)).isTrue();
    assertThat(parts(Api.MESSAGES, since, message)).isFalse();
    assertThat(parts(Api.MESSAGES, without, message)).isFalse();
    assertThat(parts(Api.MESSAGES, with, message)).isTrue();
    assertThat(parts(Api.CHAT, before, message)).isTrue();
  }

  /** SGLang's second salt, which it appends to the first; others take no notice of one. */
  @Test
  void prepare_extraKey_isASaltOfSglangs() throws IOException {
    SglangVersion sglang = new SglangVersion(0, 5, 23, null);
    ObjectNode chat = conversation("user", LONG);
    assertThat(parts(Api.CHAT, sglang, chat, "extra_key")).isTrue();
    assertThat(parts(Api.COMPLETIONS, sglang, Bodies.object("{}").put("prompt", LONG), "extra_key")).isTrue();
    assertThat(parts(Api.RESPONSES, sglang, Bodies.object("{}").put("input", LONG), "extra_key")).isTrue();
    assertThat(parts(Api.MESSAGES, sglang, chat, "extra_key")).isFalse();
    assertThat(parts(Api.CHAT, new VllmVersion(0, 33), chat, "extra_key")).isFalse();

    Prompts prompts = known(List.of(sglang));
    Prompt both =
        Bodies.prepare(prompts, Api.CHAT, "demo", chat.deepCopy().put("cache_salt", "a").put("extra_key", "b"));
    Prompt one = Bodies.prepare(prompts, Api.CHAT, "demo", chat.deepCopy().put("cache_salt", "ab"));
    assertThat(both.chain()).isEqualTo(one.chain());
  }

  private static boolean parts(Api api, EngineVersion version, ObjectNode body) throws IOException {
    return parts(api, version, body, "cache_salt");
  }

  private static boolean parts(Api api, EngineVersion version, ObjectNode body, String field) throws IOException {
    Prompts prompts = known(List.of(version));
    Prompt salted = Bodies.prepare(prompts, api, "demo", body.deepCopy().put(field, "s"));
    return !salted.chain().equals(Bodies.prepare(prompts, api, "demo", body).chain());
  }

  @Test
  void salt_isReadByAll_orNotByAll() throws IOException {
    SglangVersion without = new SglangVersion(0, 5, 17, null);
    assertThat(known(List.of(new VllmVersion(0, 32))).allReadSalt(Api.RESPONSES, "demo")).isTrue();
    assertThat(known(List.of(new VllmVersion(0, 32), without)).allReadSalt(Api.RESPONSES, "demo")).isFalse();
    assertThat(known(List.of(TensorRtVersion.of("1.3"))).allReadSalt(Api.RESPONSES, "demo")).isFalse();
  }

  private static Prompts known(List<EngineVersion> versions) throws IOException {
    VersionedEngine engine = new VersionedEngine(versions.toArray(EngineVersion[]::new));
    Prompts prompts = Prompts.load(List.of(ModelConfig.demo("demo", 16)), PromptSettings.ofMemo(1 << 20), _ -> engine,
        Runnable::run, Clock.systemUTC(), NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));
    prompts.models().forEach(PromptModel::learnEngineVersions);
    return prompts;
  }

  /** Whichever of them most engines are: none changes what the others get. */
  @Test
  void prepare_forEnginesOfTwoMakes_isAsForEachOfThemAlone() throws IOException {
    VllmVersion vllm = new VllmVersion(0, 32);
    SglangVersion sglang = new SglangVersion(0, 5, 23, null);
    ObjectNode body = conversation("system", LONG, "user", LONG);
    body.set("tools", json("[{'type': 'function', 'function': {'description': 'Looks up.', 'name': 'look_up',"
        + "'parameters': {'type': 'object', 'properties': {'word': {'type': 'varchar'}}}}}]"));
    Prompt ofVllm = prepared(List.of(vllm), body);
    Prompt ofSglang = prepared(List.of(sglang), body);
    assertThat(ofVllm.chain()).isNotEqualTo(ofSglang.chain());

    Prompt both = prepared(List.of(sglang, vllm), body);
    assertThat(both.chain()).isEqualTo(ofSglang.chain());
    assertThat(both.renditions())
        .containsExactly(new Rendition(EngineGroup.of(vllm).name(), ofVllm.chain(), ofVllm.tokens()));
    Prompt reversed = prepared(List.of(vllm, sglang), body);
    assertThat(reversed.chain()).isEqualTo(ofVllm.chain());
    assertThat(reversed.renditions())
        .containsExactly(new Rendition(EngineGroup.of(sglang).name(), ofSglang.chain(), ofSglang.tokens()));
    assertThat(prepared(List.of(vllm, sglang), conversation("user", LONG)).renditions()).isEmpty();
  }

  private static Prompt prepared(List<EngineVersion> versions, ObjectNode body) throws IOException {
    return Bodies.prepare(known(versions), Api.CHAT, "demo", body);
  }

  private static String text(Prompts prompts, ObjectNode body) {
    return DEMO.decode(Objects.requireNonNull(Bodies.tokens(prompts, Api.CHAT, "demo", body, false)));
  }

  @Test
  void prepare_toolWithoutFunction_isRefused() throws IOException {
    ObjectNode body = conversation("user", LONG);
    body.set("tools", json("[{'type': 'function'}]"));
    assertThat(Bodies.prepare(prompts(ModelConfig.demo("demo", 16)), Api.CHAT, "demo", body)).isEqualTo(new Prompt(
        Chain.EMPTY, 0, PromptMode.NONE, PromptReason.TEMPLATE_REFUSED, "tools[0].function must be an object"));
  }

  /** As some models' templates do: all output is collected in a variable, and the tools' calls are in it. */
  @Test
  void prepare_manyToolRoundsCollectedInAVariable_areRendered(@TempDir Path dir) throws IOException {
    Prompts prompts = prompts(template(dir, PromptMode.EXACT, "{% set ns = namespace(out='') %}"
        + "{% for m in messages %}{% set ns.out = ns.out + m.role + ': ' + (m.content or '') %}"
        + "{% for c in m.tool_calls or [] %}{% set ns.out = ns.out + (c.function.arguments|tojson) + '\n' %}"
        + "{% endfor %}{% endfor %}{{ ns.out }}"));
    ObjectNode body = conversation("user", LONG);
    for (int i = 0; i < 400; i++) {
      body.withArray("messages").addObject().put("role", "assistant").putArray("tool_calls").addObject()
          .put("id", "c" + i).put("type", "function").putObject("function").put("name", "f")
          .put("arguments", "{\"q\": \"" + "ab ".repeat(1000) + "\"}");
      body.withArray("messages").addObject().put("role", "tool").put("tool_call_id", "c" + i)
          .put("content", "x y ".repeat(750));
    }
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", body);
    assertThat(prompt.reason()).isEqualTo(PromptReason.AS_CONFIGURED);
    assertThat(prompt.mode()).isEqualTo(PromptMode.EXACT);
  }

  @Test
  void prepare_chat_isTheRenderedTextsTokens() throws IOException {
    Prompts prompts = prompts(ModelConfig.demo("demo", 16));
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", conversation("system", "Be brief.", "user", LONG));
    String text = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n" + LONG
        + "<|im_end|>\n<|im_start|>assistant\n";
    assertThat(prompt).isEqualTo(
        new Prompt(chain(text), DEMO.encode(text, false).length, PromptMode.EXACT, PromptReason.AS_CONFIGURED, null));
    assertThat(Bodies.tokens(prompts, Api.CHAT, "demo", conversation("system", "Be brief.", "user", LONG), false))
        .containsExactly(DEMO.encode(text, false));
  }

  @Test
  void prepare_sameConversationThroughThreeApis_isOneChain() throws IOException {
    Prompts prompts = prompts(ModelConfig.demo("demo", 16));
    Prompt chat = Bodies.prepare(prompts, Api.CHAT, "demo", conversation("system", "Be brief.", "user", LONG));
    ObjectNode responses = Bodies.object("{'instructions': 'Be brief.'}").put("input", LONG);
    ObjectNode messages = conversation("user", LONG).put("system", "Be brief.");
    assertThat(Bodies.prepare(prompts, Api.RESPONSES, "demo", responses)).isEqualTo(chat);
    assertThat(Bodies.prepare(prompts, Api.MESSAGES, "demo", messages)).isEqualTo(chat);
  }

  @Test
  void prepare_tools_areShown() throws IOException {
    Prompts prompts = prompts(ModelConfig.demo("demo", 16));
    ObjectNode body = conversation("user", "Weather?");
    body.set("tools", json("[{'type': 'function', 'function': {'name': 'weather', 'parameters': {}}}]"));
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", body);
    assertThat(DEMO.decode(Objects.requireNonNull(Bodies.tokens(prompts, Api.CHAT, "demo", body, false)))).contains(
        "{\"type\": \"function\", \"function\": {\"name\": \"weather\", \"description\": null, \"parameters\": {}}}");
    assertThat(prompt.mode()).isEqualTo(PromptMode.EXACT);
  }

  @Test
  void prepare_image_endsTheChainBeforeIt() throws IOException {
    Prompts prompts = prompts(ModelConfig.demo("demo", 16));
    ObjectNode body = conversation("system", LONG, "user", "");
    ((ObjectNode) body.at("/messages/1")).set("content",
        json("[{'type': 'text', 'text': 'What is this?'}, {'type': 'image_url', 'image_url': {'url': 'u'}}]"));
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", body);
    assertThat(prompt.reason()).isEqualTo(PromptReason.MULTIMODAL);
    assertThat(prompt.mode()).isEqualTo(PromptMode.EXACT);
    String before = "<|im_start|>system\n" + LONG + "<|im_end|>\n<|im_start|>user\n";
    int blocks = (DEMO.encode(before, false).length - 1) / 16;
    assertThat(prompt.chain().length()).isEqualTo(blocks).isPositive();
    assertThat(chain(before).hashes()).startsWith(prompt.chain().hashes());
    assertThat(prompt.tokens()).as("with the image").isGreaterThan(LONG.length() / 4 + 500);
  }

  /** SGLang takes such a part and leaves it out. */
  @Test
  void prepare_thoughtsAmongParts_areNoMedia() throws IOException {
    ObjectNode body = conversation("user", LONG, "assistant", "");
    ((ObjectNode) body.at("/messages/1")).set("content", json("""
        [{'type': 'reasoning', 'text': 'why'}, {'type': 'text', 'text': 'so'}]"""));
    Prompt prompt = Bodies.prepare(known(List.of(new SglangVersion(0, 5, 23, null))), Api.CHAT, "demo", body);
    assertThat(prompt.reason()).isEqualTo(PromptReason.AS_CONFIGURED);
    assertThat(prompt.chain().length()).isEqualTo(prompt.tokens() / 16);
  }

  /** Of ids beside messages only SGLang makes a prompt. */
  @Test
  void prepare_idsInAChat_areThePromptOfSglangsAlone() throws IOException {
    SglangVersion sglang = new SglangVersion(0, 5, 23, null);
    VllmVersion vllm = new VllmVersion(0, 33);
    ObjectNode plain = conversation("user", LONG);
    ObjectNode body = plain.deepCopy();
    body.putArray("input_ids").add(1).add(2).add(3);

    Prompt ofVllm = Bodies.prepare(known(List.of(vllm)), Api.CHAT, "demo", body);
    assertThat(ofVllm).isEqualTo(Bodies.prepare(known(List.of(vllm)), Api.CHAT, "demo", plain));
    Prompt ofBoth = Bodies.prepare(known(List.of(sglang, vllm)), Api.CHAT, "demo", body);
    assertThat(ofBoth.tokens()).isEqualTo(3);
    assertThat(ofBoth.renditions()).singleElement()
        .satisfies(other -> assertThat(other.chain()).isEqualTo(ofVllm.chain()));
  }

  @Test
  void prepare_imageAmongParts_keepsTheTextBeforeIt(@TempDir Path dir) throws IOException {
    Prompts prompts = prompts(template(dir, PromptMode.EXACT, "{% for m in messages %}{% for p in m['content'] %}"
        + "{% if p.type == 'image' %}<|im_start|>{% else %}{{ p.text }}{% endif %}{% endfor %}{% endfor %}"));
    ObjectNode body = conversation("user", "");
    ((ObjectNode) body.at("/messages/0")).putArray("content")
        .add(Bodies.object("{'type': 'text'}").put("text", LONG))
        .add(json("{'type': 'image_url', 'image_url': {'url': 'u'}}"))
        .add(Bodies.object("{'type': 'text'}").put("text", LONG));
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", body);
    assertThat(prompt.chain().length()).isEqualTo((DEMO.encode(LONG, false).length - 1) / 16);
    assertThat(chain(LONG).hashes()).startsWith(prompt.chain().hashes());
  }

  @ParameterizedTest
  @ValueSource(strings = {"{{ m.reasoning }}{{ m.content }}", "{{ m.content }}"})
  void prepare_reasoningInEmbeddings_endsTheChainBeforeIt(String message, @TempDir Path dir) throws IOException {
    Prompts prompts = prompts(template(dir, PromptMode.EXACT, "{% for m in messages %}" + message + "{% endfor %}"));
    ObjectNode body = conversation("user", LONG, "assistant", LONG);
    ((ObjectNode) body.at("/messages/1")).set("reasoning", json("{'type': 'prompt_embeds', 'data': 'AAAA'}"));
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", body);
    assertThat(prompt.reason()).isEqualTo(PromptReason.MULTIMODAL);
    assertThat(prompt.chain().length()).isEqualTo((DEMO.encode(LONG, false).length - 1) / 16);
    assertThat(chain(LONG).hashes()).startsWith(prompt.chain().hashes());
  }

  @Test
  void prepare_templateRefuses_passesItsWordsOn(@TempDir Path dir) throws IOException {
    Prompts prompts = prompts(template(dir, PromptMode.EXACT, "{{ raise_exception('Roles must alternate') }}"));
    assertThat(Bodies.prepare(prompts, Api.CHAT, "demo", conversation("user", LONG)))
        .isEqualTo(new Prompt(Chain.EMPTY, 0, PromptMode.NONE, PromptReason.TEMPLATE_REFUSED, "Roles must alternate"));
  }

  @Test
  void prepare_templateFails_chainsTheWordsThemselves(@TempDir Path dir) throws IOException {
    Prompts prompts = prompts(template(dir, PromptMode.EXACT, "{{ messages + 1 }}"));
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", conversation("user", LONG));
    assertThat(prompt.reason()).isEqualTo(PromptReason.TEMPLATE_FAILED);
    assertThat(prompt.mode()).isEqualTo(PromptMode.TEXT);
    ObjectNode longer = conversation("user", LONG, "assistant", "Yes.", "user", "Why?");
    Prompt next = Bodies.prepare(prompts, Api.CHAT, "demo", longer);
    assertThat(next.chain().hashes()).startsWith(prompt.chain().hashes());
    assertThat(degraded(prompts)).containsExactly(
        "model demo: 2 conversations could not be rendered here, so their engine tokenised them or they were routed by"
            + " their text, the last time because the chat template failed in line 1");
  }

  /** Any client can send a conversation that a template cannot render: that must not degrade a node for ever. */
  @Test
  void problems_templateHasNotFailedForAWhile_noneAndCountedAnew(@TempDir Path dir) throws IOException {
    ManualClock clock = new ManualClock();
    Prompts prompts = prompts(template(dir, PromptMode.EXACT, "{{ messages + 1 }}"), clock);
    Bodies.prepare(prompts, Api.CHAT, "demo", conversation("user", LONG));
    clock.advance(TemplateFailures.REPORTED.minusNanos(1));
    Bodies.prepare(prompts, Api.CHAT, "demo", conversation("user", LONG));
    assertThat(degraded(prompts)).singleElement().asString().contains("2 conversations");

    clock.advance(TemplateFailures.REPORTED);
    assertThat(degraded(prompts)).isEmpty();

    Bodies.prepare(prompts, Api.CHAT, "demo", conversation("user", LONG));
    assertThat(degraded(prompts)).singleElement().asString().contains("1 conversations");
  }

  private static List<String> degraded(Prompts prompts) {
    return prompts.models().stream().flatMap(model -> model.problems().stream()).map(Problem::what).toList();
  }

  @Test
  void prepare_textMode_chunksTheRenderedText(@TempDir Path dir) throws IOException {
    Prompts prompts = prompts(template(dir, PromptMode.TEXT, "{% for m in messages %}[{{ m.content }}]{% endfor %}"));
    Prompt prompt = Bodies.prepare(prompts, Api.CHAT, "demo", conversation("user", LONG));
    assertThat(prompt.mode()).isEqualTo(PromptMode.TEXT);
    assertThat(prompt.reason()).isEqualTo(PromptReason.AS_CONFIGURED);
    assertThat(prompt.chain()).isEqualTo(TextChunks.of(PLAIN.hash(), "[" + LONG + "]").chain());
  }

  @Test
  void prepare_strangeBodies_neverThrows() throws IOException {
    Prompts prompts = prompts(ModelConfig.demo("demo", 16));
    for (String body : List.of("{'messages': [1]}", "{'messages': [{'role': 5}]}", "{'messages': [[]]}",
        "{'messages': [{'role': 'user', 'content': {'a': 1}}]}", "{'input': [null, 3, 'x']}", "{'system': 3}",
        "{'messages': [{'role': 'user', 'content': [{'type': 'image_url'}, 3]}], 'tools': 7}", "3", "[]",
        "{'messages': [{'role': 'user', 'content': [null]}], 'cache_salt': {'a': 1}}", "{'tools': [3], 'input': 'x'}",
        "{'messages': [{'role': 'user', 'content': [{'type': 'tool_result'}]}], 'tools': [{}]}")) {
      for (Api api : Api.values()) {
        assertThat(Bodies.prepare(prompts, api, "demo", json(body))).as("%s %s", api, body).isNotNull();
      }
    }
  }
}
