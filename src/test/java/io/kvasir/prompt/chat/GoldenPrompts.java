package io.kvasir.prompt.chat;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.time.NanoClock;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.zip.GZIPInputStream;

/**
 * Prompts that an engine's own code made of requests, beside ours.
 *
 * @param compared how many there are
 * @param wrong ours where they differ, by the API and the case
 */
record GoldenPrompts(int compared, Map<String, String> wrong) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Supplier<LocalDateTime> NOW = () -> LocalDateTime.of(2026, 1, 15, 12, 0);

  /**
   * Those of a file with one template.
   *
   * @param engine that of an entry
   */
  static GoldenPrompts of(String resource, String template, Function<JsonNode, EngineVersion> engine)
      throws IOException {
    Map<String, ChatTemplates> templates = new HashMap<>();
    Map<String, String> wrong = new TreeMap<>();
    int compared = 0;
    try (BufferedReader lines = lines(resource)) {
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
          String ours = prompt(entry, Objects.requireNonNull(templates.get(template)), engine.apply(entry));
          if (!ours.equals(entry.path("prompt").asText())) {
            wrong.put(
                "%s: %s %s".formatted(
                    entry.path("api").asText(), entry.path("case").asText(), entry.path("version").asText()),
                ours);
          }
        }
      }
    }
    return new GoldenPrompts(compared, wrong);
  }

  private static String prompt(JsonNode entry, ChatTemplates templates, EngineVersion engine) {
    Map<String, Object> defaults = new HashMap<>();
    entry.path("defaults").properties().forEach(member -> defaults.put(member.getKey(), plain(member.getValue())));
    ChatPrompt prompt = new ChatPrompt(templates, defaults, NanoClock.SYSTEM);
    ObjectNode body = (ObjectNode) entry.path("body");
    String api = entry.path("api").asText();
    if (!api.equals("chat")) {
      MessagesRules rules = MessagesRules.of(templates, prompt, engine, NOW);
      JsonNode sent = body.deepCopy();
      ObjectNode chat = api.equals("messages")
          ? ChatBodies.ofMessages(body, engine, rules) : ChatBodies.ofResponses(body, engine, rules);
      assertThat(body).as("another engine may prepare it, too").isEqualTo(sent);
      body = chat;
    }
    return prompt.render(body, engine, NOW).toString();
  }

  private static Object plain(JsonNode value) {
    return JSON.convertValue(value, Object.class);
  }

  private static BufferedReader lines(String resource) throws IOException {
    return new BufferedReader(
        new InputStreamReader(
            new GZIPInputStream(Objects.requireNonNull(GoldenPrompts.class.getResourceAsStream(resource))),
            StandardCharsets.UTF_8));
  }
}
