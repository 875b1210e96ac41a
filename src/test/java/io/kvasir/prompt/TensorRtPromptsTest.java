package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.EngineVersion;
import io.kvasir.prompt.template.Preparation;
import io.kvasir.prompt.template.TensorRtVersion;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.LocalDateTime;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Conversations as TensorRT-LLM prepares them, beside what its server's steps make of the same requests: its request
 * types (of 1.2, and of a candidate of 1.3), validated by the library that it uses, and its conversions, from a
 * request's body to the text, with templates that print what they are given.
 */
final class TensorRtPromptsTest {
  private static final EngineVersion OLD = TensorRtVersion.of("1.2.1");
  private static final EngineVersion NEW = TensorRtVersion.of("1.3.0rc26");

  @ParameterizedTest
  @ValueSource(strings = {"members", "parts"})
  void prompts_areTheEngines(String template) throws IOException {
    GoldenPrompts prompts = GoldenPrompts.of("/tensorrt/prompts.jsonl.gz", template,
        entry -> TensorRtVersion.of(entry.path("version").asText()));
    assertThat(prompts.wrong()).isEmpty();
    assertThat(prompts.compared()).isGreaterThan(300);
  }

  @Test
  void functions_haveAllTheirFields() {
    ObjectNode body = Bodies.object("""
        {'messages': [{'role': 'user', 'content': '?'}],
         'tools': [{'type': 'function', 'function': {'name': 'f'}}]}""");
    assertThat(rendered("{{ tools | tojson }}", body, OLD)).isEqualTo("""
        [{"type": "function", "function": {"name": "f", "description": null, "parameters": null}}]""");
    assertThat(rendered("{{ tools | tojson }}", body, NEW)).isEqualTo("""
        [{"type": "function", "function": {"name": "f", "description": null, "parameters": null, "strict": null}}]""");
  }

  @Test
  void effort_isNotForTheTemplate() {
    ObjectNode body = Bodies.object("""
        {'messages': [{'role': 'user', 'content': '?'}], 'reasoning_effort': 'high',
         'chat_template_kwargs': {'enable_thinking': false}}""");
    assertThat(rendered("{{ reasoning_effort is defined }} {{ enable_thinking }}", body, NEW))
        .isEqualTo("False False");
  }

  /** Where the template reads parts, they are parts since 1.3; before, placeholders come before the text. */
  @Test
  void textBeforeMedia_isThePromptUpToThere() {
    String template = """
        {% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}\
        {% for p in m.content %}{% if p.type == 'text' %}[{{ p.text }}]{% endif %}{% endfor %}\
        {% endif %}{% endfor %}""";
    ObjectNode body = Bodies.object("""
        {'messages': [{'role': 'user', 'content': 'one '}, {'role': 'user', 'content': [
          {'type': 'text', 'text': 'two'}, {'type': 'image_url', 'image_url': {'url': 'u'}}]}]}""");
    ChatRenderer renderer = renderer(template);
    assertThat(renderer.renderUpToItem(body, 1, NEW)).hasToString("one [two][");
    assertThat(renderer.renderUpToItem(body, 1, OLD)).hasToString("one ");
  }

  /** A text of one field after the other must not cost more than its length. */
  @Test
  void billingHeader_isLeftOut_whateverItsLength() {
    String fields = " cc_version=2.1.0; a.b-c=;".repeat(50_000);
    assertThat(systemOf("x-anthropic-billing-header:" + fields)).isEqualTo("rules");
    assertThat(systemOf("x-anthropic-billing-header:" + fields + " x")).startsWith("x-anthropic");
    assertThat(systemOf("x-anthropic-billing-header: ")).startsWith("x-anthropic");
  }

  private static String systemOf(String first) {
    ObjectNode body = Bodies.object("{'messages': [{'role': 'user', 'content': '?'}]}");
    body.putArray("system").add(text(first)).add(text("rules"));
    return TensorRtMessagesBody.chat(body).at("/messages/0/content").asText();
  }

  private static ObjectNode text(String text) {
    return Bodies.object("{'type': 'text'}").put("text", text);
  }

  private static String rendered(String template, ObjectNode body, EngineVersion engine) {
    return renderer(template).render(body, engine).toString();
  }

  private static ChatRenderer renderer(String template) {
    return new ChatRenderer(
        ChatTemplates.of(ChatTemplate.parse(template), Map.of()), false, Map.of(),
        () -> LocalDateTime.of(2026, 1, 15, 12, 0), NanoClock.SYSTEM);
  }

  /** Its {@code /tokenize} renders no conversations. */
  @Test
  void tokenize_isAskedForTextsAlone() {
    ChatRenderer renderer = renderer("{{ messages }}");
    LocalTokenizer local = new LocalTokenizer(null, renderer);
    assertThat(local.isTokenizedAlike(new PromptSource.Chat(Bodies.object("{'messages': []}"), false), NEW)).isFalse();
    assertThat(local.isTokenizedAlike(new PromptSource.Text("x", false), NEW)).isFalse();
    PromptSource.Text text = new PromptSource.Text("x", true);
    assertThat(local.isTokenizedAlike(text, NEW)).isTrue();
    assertThat(text.tokenizeRequest("m", Bodies.object("{}"), NEW)).isEqualTo("{\"prompt\":\"x\"}");
  }

  @ParameterizedTest
  @CsvSource({"1.2.0, TensorRT-LLM 1.2, TensorRT-LLM 1.2", "1.3.0rc26, TensorRT-LLM 1.3, TensorRT-LLM 1.3",
      "v2.0.1, TensorRT-LLM 2.0, TensorRT-LLM 1.3", "0.21.0, TensorRT-LLM 0.21, TensorRT-LLM 1.2",
      "main, TensorRT-LLM newest, TensorRT-LLM 1.3", ", TensorRT-LLM newest, TensorRT-LLM 1.3"})
  void versions_areRead(String told, String version, String preparation) {
    EngineVersion engine = EngineVersion.of("TensorRT-LLM", told, null);
    assertThat(engine).hasToString(version);
    assertThat(Preparation.of(engine).name()).isEqualTo(preparation);
    assertThat(Preparation.of(engine.asDisaggregated()).name()).isEqualTo(preparation + ", disaggregated");
  }

  /** Of two that share a request each gets the chat completion that the router makes. */
  @Test
  void disaggregated_getsWhatTheRouterMakesOfOtherApis() {
    ChatRenderer renderer = renderer("{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}");
    ObjectNode messages = Bodies.object("""
        {'system': [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}],
         'messages': [{'role': 'user', 'content': '?'}]}""");
    assertThat(renderer.render(renderer.chat(Api.MESSAGES, messages, NEW), NEW)).hasToString("system=a\n\nb;user=?;");
    EngineVersion shared = NEW.asDisaggregated();
    assertThat(renderer.render(renderer.chat(Api.MESSAGES, messages, shared), shared))
        .hasToString("system=ab;user=?;");
  }
}
