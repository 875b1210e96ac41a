package io.kvasir.prompt;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.ChatTemplates;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.time.NanoClock;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * Prompts that an engine's own code made of requests, beside ours. They are lines of JSON: the templates, then requests
 * with what the engine made of them, by a template and a version. Not thread-safe.
 */
public final class GoldenPrompts {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Supplier<LocalDateTime> NOW = () -> LocalDateTime.of(2026, 1, 15, 12, 0);

  /** A request and what became of it: an engine that refuses one has no prompt of it. */
  public record Pair(JsonNode request, @Nullable String engines, @Nullable String ours) {
    /** Whether the engine has a prompt, and ours is another or none. */
    public boolean differs() {
      return engines != null && !engines.equals(ours);
    }
  }

  /** The template of models whose prompts are in the Harmony format. */
  private static final String HARMONY = "harmony";

  private final Map<String, ChatTemplates> templates = new HashMap<>();
  private final Map<String, ChatRenderer> renderers = new HashMap<>();
  private final Function<JsonNode, EngineVersion> engine;
  private final List<Pair> pairs = new ArrayList<>();

  private GoldenPrompts(Function<JsonNode, EngineVersion> engine) {
    this.engine = engine;
  }

  /**
   * Those of some lines.
   *
   * @param engine that of a request
   */
  public static List<Pair> of(BufferedReader lines, Function<JsonNode, EngineVersion> engine) throws IOException {
    GoldenPrompts prompts = new GoldenPrompts(engine);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      prompts.add(JSON.readTree(line));
    }
    return prompts.pairs;
  }

  /** Those of a resource. */
  public static List<Pair> of(String resource, Function<JsonNode, EngineVersion> engine) throws IOException {
    try (BufferedReader lines = new BufferedReader(
        new InputStreamReader(
            new GZIPInputStream(Objects.requireNonNull(GoldenPrompts.class.getResourceAsStream(resource))),
            StandardCharsets.UTF_8))) {
      return of(lines, engine);
    }
  }

  /** Ours where they differ, by the API, the case, the version and the template. */
  public static Map<String, String> wrong(List<Pair> pairs) {
    Map<String, String> wrong = new TreeMap<>();
    for (Pair pair : pairs) {
      if (pair.differs()) {
        JsonNode request = pair.request();
        wrong.put(
            "%s: %s %s %s".formatted(
                request.path("api").asText(), request.path("case").asText(), request.path("version").asText(),
                request.path("template").asText()),
            Objects.requireNonNullElse(pair.ours(), "refused"));
      }
    }
    return wrong;
  }

  private void add(JsonNode entry) {
    String template = entry.path("template").asText();
    if (entry.has("source")) {
      templates.put(
          template,
          ChatTemplates.of(
              ChatTemplate.parse(entry.path("source").asText()),
              JSON.convertValue(entry.path("special_tokens"), new TypeReference<>() {})));
      return;
    }
    String ours = null;
    try {
      ours = prompt(entry, renderer(template, entry.path("defaults")), engine.apply(entry));
    } catch (TemplateException refused) {
      // As the engine may have done.
    }
    pairs.add(new Pair(entry, entry.path("prompt").textValue(), ours));
  }

  private ChatRenderer renderer(String template, JsonNode defaults) {
    return renderers.computeIfAbsent(template + defaults, _ -> {
      Map<String, Object> kwargs = new HashMap<>();
      defaults.properties().forEach(member -> kwargs.put(member.getKey(), plain(member.getValue())));
      return new ChatRenderer(
          Objects.requireNonNull(templates.get(template)), template.equals(HARMONY), kwargs, NOW, NanoClock.SYSTEM);
    });
  }

  private static String prompt(JsonNode entry, ChatRenderer renderer, EngineVersion engine) {
    ObjectNode body = (ObjectNode) entry.path("body");
    Api api = Api.valueOf(entry.path("api").asText().toUpperCase(Locale.ROOT));
    ObjectNode chat = body;
    if (api != Api.CHAT) {
      JsonNode sent = body.deepCopy();
      chat = renderer.chat(api, body, engine);
      if (!body.equals(sent)) {
        throw new IllegalStateException("another engine may prepare it, too, and it was changed: " + sent);
      }
    }
    return renderer.render(chat, engine).toString().replace(Tokenizer.BREAK, "");
  }

  private static Object plain(JsonNode value) {
    return JSON.convertValue(value, Object.class);
  }
}
