package io.kvasir.prompt.template;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A model's chat templates by name, and its special tokens.
 *
 * @param named the templates; most models have one, called {@code default}; some have {@code tool_use} or {@code rag}
 * @param ofProcessor the template of the model's processor, for media; null where it has none of its own
 * @param specialTokens what templates read as {@code bos_token}, {@code eos_token} …
 */
public record ChatTemplates(
    Map<String, ChatTemplate> named, @Nullable ChatTemplate ofProcessor, Map<String, String> specialTokens) {
  private static final String DEFAULT = "default";
  private static final ObjectMapper MAPPER = new ObjectMapper();

  /** Copies both maps. */
  public ChatTemplates {
    named = Map.copyOf(named);
    specialTokens = Map.copyOf(specialTokens);
  }

  /** Templates of a model that has no processor, or one without a template of its own. */
  public ChatTemplates(Map<String, ChatTemplate> named, Map<String, String> specialTokens) {
    this(named, null, specialTokens);
  }

  /** A model with one template. */
  public static ChatTemplates of(ChatTemplate template, Map<String, String> specialTokens) {
    return new ChatTemplates(Map.of(DEFAULT, template), specialTokens);
  }

  /**
   * Loads the files of a Hugging Face model directory, as {@code transformers} does. A tokenizer has {@code
   * chat_template.jinja} and {@code additional_chat_templates/*.jinja}, else the templates of {@code
   * tokenizer_config.json}; a processor {@code chat_template.json}, else {@code chat_template.jinja}, else the template
   * of {@code processor_config.json}. Where a tokenizer has none, it is the processor's. Special tokens come from
   * {@code tokenizer_config.json} and, for older models, {@code special_tokens_map.json}. Tokens that only a Python
   * class knows are not found.
   *
   * @return null if no file has a template
   * @throws IOException if a file cannot be read
   * @throws TemplateException.Syntax if a template cannot be parsed; the message names its file
   */
  public static @Nullable ChatTemplates find(Path directory) throws IOException {
    JsonNode config = json(directory.resolve("tokenizer_config.json"));
    Map<String, ChatTemplate> files = files(directory);
    Map<String, ChatTemplate> named =
        files.isEmpty() ? inline(config.path("chat_template"), directory.resolve("tokenizer_config.json")) : files;
    Map<String, ChatTemplate> processor = inline(directory.resolve("chat_template.json"));
    if (processor.isEmpty() && files.isEmpty()) {
      processor = inline(directory.resolve("processor_config.json"));
    }
    if (named.isEmpty()) {
      return processor.isEmpty() ? null : new ChatTemplates(processor, specialTokens(directory, config));
    }
    return new ChatTemplates(named, processor.get(DEFAULT), specialTokens(directory, config));
  }

  private static Map<String, ChatTemplate> files(Path directory) throws IOException {
    Map<String, ChatTemplate> named = new TreeMap<>();
    Path main = directory.resolve("chat_template.jinja");
    if (Files.exists(main)) {
      named.put(DEFAULT, parse(Files.readString(main), main));
    }
    Path more = directory.resolve("additional_chat_templates");
    if (Files.isDirectory(more)) {
      try (DirectoryStream<Path> files = Files.newDirectoryStream(more, "*.jinja")) {
        for (Path file : files) {
          String name = String.valueOf(file.getFileName());
          named.put(name.substring(0, name.length() - ".jinja".length()), parse(Files.readString(file), file));
        }
      }
    }
    return named;
  }

  private static Map<String, ChatTemplate> inline(Path file) throws IOException {
    return inline(json(file).path("chat_template"), file);
  }

  /** A template, or a list of {@code {"name": …, "template": …}}. */
  private static Map<String, ChatTemplate> inline(JsonNode templates, Path file) {
    Map<String, ChatTemplate> named = new LinkedHashMap<>();
    if (templates.isTextual()) {
      named.put(DEFAULT, parse(templates.textValue(), file));
    }
    for (JsonNode entry : templates) {
      if (entry.isTextual()) {
        continue;
      }
      named.put(entry.path("name").asText(), parse(entry.path("template").asText(), file));
    }
    for (Map.Entry<String, JsonNode> entry : templates.properties()) {
      if (entry.getValue().isTextual()) {
        named.put(entry.getKey(), parse(entry.getValue().textValue(), file));
      }
    }
    return named;
  }

  private static ChatTemplate parse(String source, Path file) {
    try {
      return ChatTemplate.parse(source);
    } catch (TemplateException.Syntax e) {
      TemplateException.Syntax named = new TemplateException.Syntax(file + ": " + e.reason(), e.line());
      named.initCause(e);
      throw named;
    }
  }

  /**
   * The special tokens of a Hugging Face model directory, for a template from elsewhere.
   *
   * @throws IOException if a file cannot be read
   */
  public static Map<String, String> specialTokens(Path directory) throws IOException {
    return specialTokens(directory, json(directory.resolve("tokenizer_config.json")));
  }

  private static Map<String, String> specialTokens(Path directory, JsonNode config) throws IOException {
    Map<String, String> tokens = new LinkedHashMap<>();
    tokens(config, tokens);
    if (!config.has("added_tokens_decoder")) {
      tokens(json(directory.resolve("special_tokens_map.json")), tokens);
    }
    return tokens;
  }

  /** Every member whose name ends like a token's and that is one, and those that a model names by itself. */
  private static void tokens(JsonNode file, Map<String, String> tokens) {
    for (Map.Entry<String, JsonNode> member : file.properties()) {
      if (member.getKey().endsWith("_token")) {
        token(member, tokens);
      }
    }
    if (file.path("extra_special_tokens").isObject()) {
      file.path("extra_special_tokens").properties().forEach(member -> token(member, tokens));
    }
  }

  private static void token(Map.Entry<String, JsonNode> member, Map<String, String> tokens) {
    JsonNode token = member.getValue();
    JsonNode content = token.isObject() ? token.path("content") : token;
    if (content.isTextual()) {
      tokens.put(member.getKey(), content.textValue());
    }
  }

  private static JsonNode json(Path file) throws IOException {
    return Files.exists(file) ? MAPPER.readTree(Files.readAllBytes(file)) : MAPPER.createObjectNode();
  }

  /**
   * The template for a request: {@code tool_use} if it has tools and the model has such a template, else
   * {@code default}.
   *
   * @throws TemplateException.Request if the model has several templates and none of these
   */
  public ChatTemplate select(boolean hasTools) {
    ChatTemplate template = hasTools ? named.get("tool_use") : null;
    template = template != null ? template : named.get(DEFAULT);
    if (template == null) {
      throw new TemplateException.Request("this model has no default chat template; name one of "
          + new TreeMap<>(named).keySet() + " in chat_template");
    }
    return template;
  }

  /** The same where the processor's template goes before the tokenizer's in requests without tools. */
  public ChatTemplate selectOfProcessor(boolean hasTools) {
    return hasTools || ofProcessor == null ? select(hasTools) : ofProcessor;
  }
}
