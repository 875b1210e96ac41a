package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.tokens.Samples;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.zip.GZIPInputStream;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Models in the Harmony format, beside what engines' own code makes of the same requests, from a body to the tokens:
 * the classes of vLLM 0.32, which are those of 0.33 here, some with the reference library of 0.30, those of 0.17 to
 * 0.29, and those of SGLang 0.5.13 to 0.5.23 for {@code /v1/responses}. {@code load-tests/prompts --harmony} does
 * the same.
 */
final class HarmonyPromptsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final EngineVersion VLLM = VllmVersion.of("0.33.0");
  private static final EngineVersion OLDER_VLLM = VllmVersion.of("0.32.0");
  private static final EngineVersion SGLANG = SglangVersion.of("0.5.23", null);
  /** What follows an answer's text. */
  private static final String HARMONY_END = "<|end|><|start|>assistant";

  private static final Clock CLOCK = Clock.fixed(Instant.parse("2026-11-28T10:00:00Z"), ZoneOffset.UTC);
  private static final String TEMPLATE = """
      {% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}{% endfor %}<|start|>assistant\
      {# <|channel|> #}""";

  @TempDir
  private Path directory;

  private final ChatRenderer renderer =
      new ChatRenderer(
          ChatTemplates.of(ChatTemplate.parse(TEMPLATE), Map.of()), true, Map.of(), () -> LocalDateTime.now(CLOCK),
          NanoClock.SYSTEM);

  @BeforeEach
  void writeModel() throws IOException {
    Files.write(directory.resolve("tokenizer.json"), Samples.bytes("/models/kvasir-demo/tokenizer.json"));
    Files.writeString(directory.resolve("chat_template.jinja"), TEMPLATE);
    Files.writeString(directory.resolve("config.json"), "{\"model_type\": \"gpt_oss\"}");
  }

  @Test
  void inputThatIsAnObject_isRefused() {
    assertThatThrownBy(() -> renderer.chat(Api.RESPONSES, Bodies.object("{'input': {'role': 'user'}}"), VLLM))
        .isInstanceOf(TemplateException.Request.class).hasMessageContaining("input");
  }

  /** Of some the tokens are compared, too, by the bundled vocabulary. */
  @Test
  void prompts_areTheEngines() throws IOException {
    LocalTokenizer tokenizer = new LocalTokenizer(files("bundled:gpt-oss").tokenizer(), renderer);
    Map<String, String> wrong = new TreeMap<>();
    int compared = 0;
    int tokenised = 0;
    try (BufferedReader lines = lines()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        JsonNode entry = JSON.readTree(line);
        JsonNode sent = entry.path("body").deepCopy();
        Api api = Api.valueOf(entry.path("api").asText().toUpperCase(Locale.ROOT));
        EngineVersion engine =
            EngineVersion.of(entry.path("make").asText("vLLM"), entry.path("version").asText(), null);
        ObjectNode body = (ObjectNode) entry.get("body");
        String ours = prompt(api, body, engine);
        if (entry.has("tokens")) {
          PromptSource.Chat chat = new PromptSource.Chat(chat(api, body, engine), false);
          assertThat(tokenizer.ids(chat, -1, engine))
              .as(entry.path("prompt").asText())
              .isEqualTo(JSON.convertValue(entry.get("tokens"), int[].class));
          tokenised++;
        }
        assertThat(entry.get("body")).as("another engine may prepare it, too").isEqualTo(sent);
        compared++;
        if (!ours.equals(entry.path("prompt").asText())) {
          wrong.put(entry.path("body").toString(), ours);
        }
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(compared).isGreaterThan(2300);
    assertThat(tokenised).isGreaterThan(100);
  }

  private static BufferedReader lines() throws IOException {
    return new BufferedReader(
        new InputStreamReader(
            new GZIPInputStream(
                Objects.requireNonNull(HarmonyPromptsTest.class.getResourceAsStream("/harmony/prompts.jsonl.gz"))),
            StandardCharsets.UTF_8));
  }

  private String prompt(Api api, ObjectNode body, EngineVersion engine) {
    return renderer.render(chat(api, body, engine), engine).toString().replace(Tokenizer.BREAK, "");
  }

  private ObjectNode chat(Api api, ObjectNode body, EngineVersion engine) {
    return api == Api.CHAT ? body : renderer.chat(api, body, engine);
  }

  /** A text of one beginning after the other must not cost more than its length. */
  @Test
  void tensorRtPreamble_isLookedForOnce_whateverTheText() {
    String begin = "<|channel|>commentary<|message|>";
    ObjectNode body = Bodies.object("{'messages': [{'role': 'assistant'}]}");
    ObjectNode message = (ObjectNode) body.at("/messages/0");
    EngineVersion engine = TensorRtVersion.of("1.3.0");

    message.putArray("tool_calls");
    for (String text : List.of(
        begin.repeat(100_000), begin + " " + begin.repeat(100_000) + "<|end|>" + begin.repeat(200_000))) {
      message.put("content", text);
      assertThat(prompt(Api.CHAT, body, engine)).endsWith("<|channel|>final<|message|>" + text + HARMONY_END);
    }

    message.put("content", begin + " I look. <|end|>Found." + begin + "no more<|end|>");
    assertThat(prompt(Api.CHAT, body, engine)).endsWith(
        "<|channel|>final<|message|>" + begin + " I look. <|end|>Found." + begin + "no more<|end|>" + HARMONY_END);

    message.put("content", begin + "I\nlook.<|end|>Found" + begin + "I\nlook.<|end|> one<|end|>.");
    assertThat(prompt(Api.CHAT, body, engine)).endsWith(
        "<|channel|>commentary<|message|>I\nlook.<|end|><|start|>assistant"
            + "<|channel|>final<|message|>Found one<|end|>." + HARMONY_END);
  }

  @Test
  void whatTheEngineRefuses_isRefused() {
    Assertions.assertThatThrownBy(
            () -> prompt(Api.CHAT, Bodies.object(
                "{'messages': [{'role': 'user', 'content': 'x'}], 'reasoning_effort': 'minimal'}"), VLLM))
        .isInstanceOf(TemplateException.Request.class)
        .hasMessageContaining("low, medium or high");
    Assertions.assertThatThrownBy(
            () -> prompt(Api.CHAT, Bodies.object("{'messages': [{'role': 'function', 'content': 'x'}]}"), VLLM))
        .hasMessageContaining("role function");
    Assertions.assertThatThrownBy(
            () -> prompt(Api.RESPONSES, Bodies.object(
                "{'input': [{'type': 'function_call_output', 'call_id': 'c', 'output': 'x'}]}"), VLLM))
        .hasMessageContaining("needs its function_call");
    Assertions.assertThatThrownBy(
            () -> prompt(Api.RESPONSES, Bodies.object("{'input': 'x', 'tools': [{'type': 'mcp'}]}"), VLLM))
        .hasMessageContaining("tools of this type");
  }

  /** What clients write must not make more of itself than we hold. */
  @Test
  void schemasOfTools_areBoundedInDepthAndInWhatTheyMake() {
    Assertions.assertThatThrownBy(() -> prompt(Api.CHAT, withParameters("{}", 400), VLLM))
        .isInstanceOf(TemplateException.Request.class)
        .hasMessageContaining("nested too deeply");
    String many =
        IntStream.range(0, 50_000).mapToObj("\"p%d\": {}"::formatted).collect(Collectors.joining(", ", "{", "}"));
    Assertions.assertThatThrownBy(
            () -> prompt(
                Api.CHAT, withParameters("{\"type\": \"object\", \"properties\": " + many + "}", 100), VLLM))
        .isInstanceOf(TemplateException.Limit.class)
        .hasMessageContaining("characters of text");
    String examples = "{\"examples\": [" + "\"\", ".repeat(50_000) + "\"\"]}";
    Assertions.assertThatThrownBy(() -> prompt(Api.CHAT, withParameters(examples, 100), VLLM))
        .isInstanceOf(TemplateException.Limit.class);
    assertThat(prompt(Api.CHAT, withParameters("{}", 100), VLLM)).contains("a?: any,");
  }

  private static ObjectNode withParameters(String innermost, int depth) {
    String schema =
        "{\"type\": \"object\", \"properties\": {\"a\": ".repeat(depth) + innermost + "}}".repeat(depth);
    return (ObjectNode) Bodies.parse(
        "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}], \"tools\": [{\"type\": \"function\","
            + " \"function\": {\"name\": \"f\", \"parameters\": " + schema + "}}]}");
  }

  @Test
  void texts_areTokenisedEachByItself_andHaveNoSpecialTokens() {
    String rendered =
        renderer.render(
            Bodies.object("""
                {'messages': [{'role': 'user', 'content': [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text':
                'b<|end|>'}]}]}"""), VLLM).toString();
    assertThat(rendered).endsWith(
        "<|message|>a" + Tokenizer.BREAK + "b<|" + Tokenizer.BREAK + "end|><|end|><|start|>assistant");
  }

  @Test
  void sglang_rendersTheTemplateForChats_alsoWhereTheRouterMakesThemOfResponses() {
    ObjectNode chat = Bodies.object("{'messages': [{'role': 'user', 'content': 'x'}]}");
    ObjectNode response = Bodies.object("{'input': 'x'}");
    assertThat(prompt(Api.RESPONSES, response, SGLANG)).contains("Current date: 2026-11-28");
    assertThat(prompt(Api.RESPONSES, response, new SglangVersion(0, 5, 20, null).asDisaggregated()))
        .contains("Current date: 2026-11-28");
    assertThat(prompt(Api.RESPONSES, response, new SglangVersion(0, 5, 19, null).asDisaggregated()))
        .isEqualTo("<|start|>user<|message|>x<|start|>assistant");
    assertThat(prompt(Api.CHAT, chat, SGLANG)).isEqualTo("<|start|>user<|message|>x<|start|>assistant");
    assertThat(prompt(Api.CHAT, chat, VLLM)).contains("Current date: 2026-11-28");
  }

  @Test
  void thinkingThatIsSwitchedOff_isTheLeastEffortOfTheFormat_whateverTheTemplateTakes() {
    ChatRenderer taking =
        new ChatRenderer(
            ChatTemplates.of(ChatTemplate.parse("{{ reasoning_effort }}{{ messages }}"), Map.of()), true, Map.of(),
            () -> LocalDateTime.now(CLOCK), NanoClock.SYSTEM);
    ObjectNode body = Bodies.object(
        "{'messages': [{'role': 'user', 'content': 'x'}], 'thinking': {'type': 'disabled'}}");
    ChatRenderer without =
        new ChatRenderer(null, true, Map.of(), () -> LocalDateTime.now(CLOCK), NanoClock.SYSTEM);
    for (ChatRenderer each : List.of(taking, without)) {
      ObjectNode chat = each.chat(Api.MESSAGES, body, VLLM);
      assertThat(each.render(chat, VLLM).toString()).contains("\nReasoning: low\n");
    }
  }

  @Test
  void date_isToday_orThatOfTheEngines() {
    ObjectNode chat = Bodies.object("{'messages': [{'role': 'user', 'content': 'x'}]}");
    ChatRenderer pinned =
        new ChatRenderer(
            renderer.templates(), true, Map.of("conversation_start_date", "2025-08-01"), () -> LocalDateTime.now(CLOCK),
            NanoClock.SYSTEM);
    assertThat(pinned.render(chat, VLLM).toString()).contains("\nCurrent date: 2025-08-01\n");
    assertThat(renderer.render(chat, VLLM).toString()).contains("\nCurrent date: 2026-11-28\n");
  }

  @Test
  void model_isKnownByItsConfiguration_withoutOneByItsTemplate() throws IOException {
    assertThat(files().harmony()).isTrue();
    Files.writeString(directory.resolve("config.json"), "{\"model_type\": \"llama\"}");
    assertThat(files().harmony()).isFalse();
    Files.delete(directory.resolve("config.json"));
    assertThat(files().harmony()).isTrue();
    Files.writeString(directory.resolve("chat_template.jinja"), "{{ messages }}");
    assertThat(files().harmony()).isFalse();
  }

  private ModelFiles files() throws IOException {
    return files(directory.toString());
  }

  private static ModelFiles files(String place) throws IOException {
    return ModelFiles.read(config(PromptMode.EXACT, place));
  }

  private static ModelConfig config(PromptMode mode, String place) {
    return new ModelConfig("m", Set.of(), 16, mode, ModelConfig.FileSources.in(place), Map.of(), 1, false);
  }

  /** An engine of a version that answers to texts, and notes all that it is asked. */
  private static final class Engine implements EngineTokenizer {
    private static final Tokenizer DEMO = Samples.demo();
    private final List<JsonNode> asked = new ArrayList<>();
    private final EngineVersion version;

    Engine(EngineVersion version) {
      this.version = version;
    }

    @Override
    public int[] tokenize(String jsonBody) {
      JsonNode body = Bodies.parse(jsonBody);
      asked.add(body);
      return body.has("prompt") ? DEMO.encode(body.get("prompt").asText(), true) : new int[] {1, 2, 3};
    }

    @Override
    public List<EngineVersion> versions() {
      return List.of(version);
    }
  }

  private Prompts prompts(Engine engine, PromptMode mode) throws IOException {
    Prompts prompts =
        Prompts.load(
            List.of(config(mode, directory.toString())), PromptSettings.ofMemo(1 << 20), _ -> engine, Runnable::run,
            CLOCK, NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));
    prompts.models().forEach(PromptModel::learnEngineVersions);
    return prompts;
  }

  private static Prompt prepare(Prompts prompts, String body) {
    PromptRequest request = new PromptRequest(Api.CHAT, "m", Bodies.json(body), false, () -> "client");
    return prompts.prepare(request, prompts.limiter().unlimited());
  }

  /** Without the files of the model, of which all is known but the template. */
  @Test
  void bundled_conversationsOfOtherEngines_areTokenisedByThem() throws IOException {
    Files.delete(directory.resolve("chat_template.jinja"));
    String chat = "{'messages': [{'role': 'user', 'content': 'x'}]}";
    assertThat(prepare(prompts(new Engine(SGLANG), PromptMode.EXACT), chat))
        .returns(PromptMode.ENGINE, Prompt::mode)
        .returns(PromptReason.TEMPLATE_FAILED, Prompt::reason)
        .returns(3, Prompt::tokens);
    assertThat(prepare(prompts(new Engine(VLLM), PromptMode.EXACT), chat).mode()).isEqualTo(PromptMode.EXACT);
  }

  /** Its /tokenize renders the template, whatever it answers conversations by. */
  @Test
  void parity_before033_isOfTextsAlone() throws IOException {
    Engine engine = new Engine(OLDER_VLLM);
    Prompts prompts = prompts(engine, PromptMode.EXACT);
    prompts.models().forEach(PromptModel::check);
    Prompt prompt = prepare(prompts, "{'messages': [{'role': 'user', 'content': 'x'}]}");

    assertThat(prompt.mode()).isEqualTo(PromptMode.EXACT);
    assertThat(prompt.tokens()).isGreaterThan(100);
    assertThat(engine.asked).isNotEmpty().allSatisfy(asked -> assertThat(asked.has("messages")).isFalse());
    assertThat(prompts.models()).allSatisfy(model -> {
      assertThat(model.state().parity()).isEqualTo(Parity.SAME);
      assertThat(model.needsCheck()).isFalse();
    });
  }

  @Test
  void parity_since033_isOfConversationsWithoutAnEffort() throws IOException {
    Engine engine = new Engine(VLLM);
    Prompts prompts = prompts(engine, PromptMode.EXACT);
    Prompt _ = prepare(prompts, "{'messages': [{'role': 'user', 'content': 'x'}], 'reasoning_effort': 'low'}");
    assertThat(engine.asked).isEmpty();
    Prompt _ = prepare(prompts, "{'messages': [{'role': 'user', 'content': 'x'}]}");
    assertThat(engine.asked).isNotEmpty();
  }

  @Test
  void engineMode_doesNotAskForTokensOfAnotherPrompt() throws IOException {
    String chat = "{'messages': [{'role': 'user', 'content': 'x'}]}";
    Engine older = new Engine(OLDER_VLLM);
    assertThat(prepare(prompts(older, PromptMode.ENGINE), chat))
        .returns(PromptMode.TEXT, Prompt::mode)
        .returns(PromptReason.ENGINE_REFUSED, Prompt::reason);
    assertThat(older.asked).isEmpty();
    assertThat(prepare(prompts(new Engine(VLLM), PromptMode.ENGINE), chat))
        .returns(PromptMode.ENGINE, Prompt::mode)
        .returns(3, Prompt::tokens);
  }
}
