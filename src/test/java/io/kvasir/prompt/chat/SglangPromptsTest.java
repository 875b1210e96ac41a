package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
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

/**
 * Conversations as SGLang prepares them, beside what its own code makes of the same requests. Its prompts were made by
 * the server's classes, from a request's body to the text, with templates that print what they are given: of chosen
 * requests by those of 0.5.23, and where they differ of 0.5.18 and 0.5.22, and of a thousand at random by those of all
 * versions from 0.5.13 on, as {@code load-tests/prompts} does it.
 */
final class SglangPromptsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Supplier<LocalDateTime> NOW = () -> LocalDateTime.of(2026, 1, 15, 12, 0);

  @Test
  void prompts_areTheEngines() throws IOException {
    List<GoldenPrompts.Pair> prompts = GoldenPrompts.of(
        "/sglang/prompts.jsonl.gz",
        entry -> SglangVersion.of(entry.path("version").asText("0.5.23"), entry.path("parser").textValue()));
    assertThat(GoldenPrompts.wrong(prompts)).isEmpty();
    assertThat(prompts).hasSizeGreaterThan(4500);
  }

  @Test
  void tools_areAsTheyWereSent_since0523_andInOneOrderBefore() throws IOException {
    String body = """
        {"messages": [{"role": "user", "content": "?"}], "tools": [{"type": "function", "function":
          {"name": "f", "parameters": {"type": "object"}, "unknown": 1}}]}""";
    assertThat(rendered("0.5.23", "{{ tools | tojson }}", body)).isEqualTo("""
        [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "description": null}, \
        "defer_loading": null}]""");
    assertThat(rendered("0.5.22", "{{ tools | tojson }}", body)).isEqualTo("""
        [{"type": "function", "function": {"description": null, "name": "f", "parameters": {"type": "object"}, \
        "strict": false}, "defer_loading": null}]""");
  }

  @Test
  void effort_switchesThinkingOn_since0516_andOnlyOffBefore() throws IOException {
    String template = "{{ thinking is defined and thinking }} {{ enable_thinking | default('-') }} {{ low_effort }}"
        + "{# truncate_history_thinking #}";
    String low = "{\"reasoning_effort\": \"low\", \"messages\": [{\"role\": \"user\", \"content\": \"?\"}]}";
    assertThat(rendered("0.5.16", template, low)).isEqualTo("True True True");
    assertThat(rendered("0.5.15", template, low)).isEqualTo("False - ");
    assertThat(rendered("0.5.15", template, low.replace("low", "none"))).isEqualTo("False False ");
  }

  @Test
  void argumentsWithMoreBehindThem_areRefused() {
    for (String arguments : List.of("{}}", "{} {}", "{} x")) {
      ObjectNode body = Bodies.object("""
          {'messages': [{'role': 'assistant', 'tool_calls': [
            {'id': 'a', 'type': 'function', 'function': {'name': 'f', 'arguments': 'ARGUMENTS'}}]}]}"""
          .replace("ARGUMENTS", arguments));
      assertThatThrownBy(() -> rendered("0.5.23", "{{ messages }}", body.toString()))
          .isInstanceOf(TemplateException.Request.class).hasMessageContaining("must be a JSON object");
    }
  }

  @Test
  void laterSystemMessages_stay_since0515_andAreMergedBefore() throws IOException {
    String template = "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}";
    ChatTemplates templates = ChatTemplates.of(ChatTemplate.parse(template), Map.of());
    assertThat(merges(templates, "0.5.15")).isFalse();
    assertThat(merges(templates, "0.5.14")).isTrue();
  }

  private static boolean merges(ChatTemplates templates, String version) {
    SglangVersion engine = SglangVersion.of(version, null);
    TemplateRenderer prompt = new TemplateRenderer(templates, Map.of(), NanoClock.SYSTEM);
    return MessagesRules.of(templates, chat -> prompt.render(chat, engine, NOW), engine, NOW).mergesSystem();
  }

  private static String rendered(String version, String template, String body) throws IOException {
    ChatTemplates templates = ChatTemplates.of(ChatTemplate.parse(template), Map.of());
    return new TemplateRenderer(templates, Map.of(), NanoClock.SYSTEM)
        .render(JSON.readTree(body), SglangVersion.of(version, null), NOW).toString();
  }

  @Test
  void versions_areRead() {
    assertThat(SglangVersion.of("0.5.23", null)).isEqualTo(new SglangVersion(0, 5, 23, null))
        .hasToString("SGLang 0.5.23");
    assertThat(SglangVersion.of("v0.5.16.post1", null)).isEqualTo(new SglangVersion(0, 5, 16, null));
    assertThat(SglangVersion.of("0.5.20rc1+g12", "qwen3")).isEqualTo(new SglangVersion(0, 5, 20, "qwen3"))
        .hasToString("SGLang 0.5.20 with reasoning parser qwen3");
    for (String odd : new String[] {"", "qwen3\nWARN", "q".repeat(65)}) {
      assertThat(SglangVersion.of("0.5.23", odd).reasoningParser()).as(odd).isNull();
    }
    assertThat(SglangVersion.of(null, null)).isEqualTo(SglangVersion.of("main", null)).hasToString("SGLang newest");
    assertThat(SglangVersion.of("0.0.0.dev0", null)).isEqualTo(SglangVersion.of(null, null));
    assertThat(SglangVersion.of("0.0.0", null)).isEqualTo(SglangVersion.of(null, null));
  }
}
