package io.kvasir.prompt;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.ChatPrompt;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.MessagesRules;
import io.kvasir.prompt.template.SglangVersion;
import io.kvasir.time.NanoClock;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Conversations as SGLang prepares them, beside what its own code makes of the same requests. Its prompts were made by
 * the server's classes of 0.5.23, from a request's body to the text, with templates that print what they are given;
 * those that differ by the classes of 0.5.18 and 0.5.22, too.
 */
final class SglangPromptsTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Supplier<LocalDateTime> NOW = () -> LocalDateTime.of(2026, 1, 15, 12, 0);

  @ParameterizedTest
  @ValueSource(strings = {"members", "parts", "inline system", "little effort", "functions alone"})
  void prompts_areTheEngines(String template) throws IOException {
    Map<String, ChatTemplates> templates = new HashMap<>();
    Map<String, String> wrong = new TreeMap<>();
    int compared = 0;
    try (BufferedReader lines = lines()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        JsonNode entry = JSON.readTree(line);
        if (entry.has("source")) {
          templates.put(
              entry.path("template").asText(),
              ChatTemplates.of(
                  ChatTemplate.parse(entry.path("source").asText()),
                  JSON.convertValue(entry.path("special_tokens"), new TypeReference<>() {})));
        } else if (entry.path("template").asText().equals(template)) {
          compared++;
          String ours = prompt(entry, Objects.requireNonNull(templates.get(template)));
          if (!ours.equals(entry.path("prompt").asText())) {
            wrong.put(entry.path("api").asText() + ": " + entry.path("case").asText(), ours);
          }
        }
      }
    }
    assertThat(wrong).isEmpty();
    assertThat(compared).isGreaterThan(300);
  }

  private static String prompt(JsonNode entry, ChatTemplates templates) {
    Map<String, Object> defaults = new HashMap<>();
    entry.path("defaults").properties().forEach(member -> defaults.put(member.getKey(), plain(member.getValue())));
    ChatPrompt prompt = new ChatPrompt(templates, defaults, NanoClock.SYSTEM);
    SglangVersion engine = SglangVersion.of(entry.path("version").asText("0.5.23"), entry.path("parser").textValue());
    ObjectNode body = (ObjectNode) entry.path("body");
    String api = entry.path("api").asText();
    if (!api.equals("chat")) {
      MessagesRules rules = MessagesRules.of(templates, prompt, engine, NOW);
      JsonNode sent = body.deepCopy();
      ObjectNode chat = ChatRenderer.chat(Api.valueOf(api.toUpperCase(Locale.ROOT)), body, engine, rules);
      assertThat(body).as("another engine may prepare it, too").isEqualTo(sent);
      body = chat;
    }
    return prompt.render(body, engine, NOW).text().toString();
  }

  private static Object plain(JsonNode value) {
    return JSON.convertValue(value, Object.class);
  }

  private static BufferedReader lines() throws IOException {
    return new BufferedReader(
        new InputStreamReader(
            new GZIPInputStream(
                Objects.requireNonNull(
                    SglangPromptsTest.class.getResourceAsStream("/sglang/prompts.jsonl.gz"))),
            StandardCharsets.UTF_8));
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
  void laterSystemMessages_stay_since0515_andAreMergedBefore() throws IOException {
    String template = "{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}";
    ChatTemplates templates = ChatTemplates.of(ChatTemplate.parse(template), Map.of());
    ChatPrompt prompt = new ChatPrompt(templates, Map.of(), NanoClock.SYSTEM);
    assertThat(MessagesRules.of(templates, prompt, SglangVersion.of("0.5.15", null), NOW).mergesSystem()).isFalse();
    assertThat(MessagesRules.of(templates, prompt, SglangVersion.of("0.5.14", null), NOW).mergesSystem()).isTrue();
  }

  private static String rendered(String version, String template, String body) throws IOException {
    ChatTemplates templates = ChatTemplates.of(ChatTemplate.parse(template), Map.of());
    return new ChatPrompt(templates, Map.of(), NanoClock.SYSTEM)
        .render(JSON.readTree(body), SglangVersion.of(version, null), NOW).text().toString();
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
  }
}
