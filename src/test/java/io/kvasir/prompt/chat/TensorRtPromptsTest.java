package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.Bodies;
import io.kvasir.prompt.GoldenPrompts;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Conversations as TensorRT-LLM prepares them, beside what its server's steps make of the same requests: its request
 * types (of 1.2, and of a candidate of 1.3), validated by the library that it uses, and its conversions, from a
 * request's body to the text, with templates that print what they are given.
 */
final class TensorRtPromptsTest {
  private static final EngineVersion OLD = TensorRtVersion.of("1.2.1");
  private static final EngineVersion NEW = TensorRtVersion.of("1.3.0rc26");
  private static final Supplier<LocalDateTime> NOW = () -> LocalDateTime.of(2026, 1, 15, 12, 0);

  @Test
  void prompts_areTheEngines() throws IOException {
    List<GoldenPrompts.Pair> prompts = GoldenPrompts.of(
        "/tensorrt/prompts.jsonl.gz", entry -> TensorRtVersion.of(entry.path("version").asText()));
    assertThat(GoldenPrompts.wrong(prompts)).isEmpty();
    assertThat(prompts).hasSizeGreaterThan(600);
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
  void callsThatAreNoList_areRefused() {
    ObjectNode body = Bodies.object("""
        {'input': [{'role': 'assistant', 'tool_calls': 1}, {'type': 'function_call', 'call_id': 'c', 'name': 'f'}]}""");
    assertThatThrownBy(() -> ChatBodies.ofResponses(body, NEW, MessagesRules.UNKNOWN))
        .isInstanceOf(TemplateException.Request.class).hasMessageContaining("tool_calls");
  }

  @Test
  void effort_isNotForTheTemplate() {
    ObjectNode body = Bodies.object("""
        {'messages': [{'role': 'user', 'content': '?'}], 'reasoning_effort': 'high',
         'chat_template_kwargs': {'enable_thinking': false}}""");
    assertThat(rendered("{{ reasoning_effort is defined }} {{ enable_thinking }}", body, NEW))
        .isEqualTo("False False");
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
    return new TemplateRenderer(templates(template), Map.of(), NanoClock.SYSTEM).render(body, engine, NOW).toString();
  }

  private static ChatTemplates templates(String template) {
    return ChatTemplates.of(ChatTemplate.parse(template), Map.of());
  }

  @ParameterizedTest
  @CsvSource({"1.2.0, TensorRT-LLM 1.2, TensorRT-LLM 1.2", "1.3.0rc26, TensorRT-LLM 1.3, TensorRT-LLM 1.3",
      "v2.0.1, TensorRT-LLM 2.0, TensorRT-LLM 1.3", "0.21.0, TensorRT-LLM 0.21, TensorRT-LLM 1.2",
      "main, TensorRT-LLM newest, TensorRT-LLM 1.3", ", TensorRT-LLM newest, TensorRT-LLM 1.3"})
  void versions_areRead(String told, String version, String preparation) {
    EngineVersion engine = EngineVersion.of("TensorRT-LLM", told, null);
    assertThat(engine).hasToString(version);
    assertThat(EngineGroup.of(engine).name()).isEqualTo(preparation);
    assertThat(EngineGroup.of(engine.asDisaggregated()).name()).isEqualTo(preparation + ", disaggregated");
  }

  @Test
  void disaggregated_getsTheChatThatTheRouterMakesOfResponses_andMessagesAsOneAlone() {
    String template = "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}";
    EngineVersion shared = NEW.asDisaggregated();
    ObjectNode messages = Bodies.object("""
        {'system': [{'type': 'text', 'text': 'a'}, {'type': 'text', 'text': 'b'}],
         'messages': [{'role': 'user', 'content': '?'}]}""");
    for (EngineVersion version : List.of(NEW, shared)) {
      assertThat(rendered(template, ChatBodies.ofMessages(messages, version, MessagesRules.UNKNOWN), version))
          .isEqualTo("system=a\n\nb;user=?;");
    }
    ObjectNode responses = Bodies.object("{'instructions': 'a', 'input': [{'role': 'user', 'content': '?'}]}");
    assertThat(rendered(template, ChatBodies.ofResponses(responses, shared, MessagesRules.UNKNOWN), shared))
        .isEqualTo("system=a;user=?;");
  }
}
