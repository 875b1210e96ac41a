package io.kvasir.prompt.chat;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.kvasir.prompt.template.ChatTemplate;
import io.kvasir.prompt.template.JsonValues;
import io.kvasir.prompt.template.TemplateException.Request;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The preparation of messages for a template, as SGLang's API server does it.
 *
 * <p>A message keeps the fields that the API has for its role, in the API's order, parts last, and without those that
 * are null; a user's has its content alone. Content is given as it came, or where it is a list of parts by what the
 * template reads ({@link ContentFormat}): its texts with spaces between, or the list. Arguments of a tool call become
 * an object.
 *
 * <p>Source: SGLang {@code srt/entrypoints/openai/serving_chat.py} and {@code protocol.py}, {@code
 * srt/parser/jinja_template_utils.py}.
 */
final class SglangMessages {
  private static final ObjectMapper MAPPER =
      new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);
  private static final Set<String> ROLES =
      Set.of("system", "assistant", "tool", "function", "developer", "latest_reminder", "root");
  private static final String CONTENT = "content";

  private final SglangVersion version;
  private final ContentFormat format;

  private SglangMessages(SglangVersion version, ContentFormat format) {
    this.version = version;
    this.format = format;
  }

  /** The messages as an engine of this version gives them to the template. */
  static List<Map<String, @Nullable Object>> prepare(
      JsonNode messages, ChatTemplate template, SglangVersion version) {
    SglangMessages rules = new SglangMessages(version, ContentFormat.of(template, version));
    List<Map<String, @Nullable Object>> prepared = new ArrayList<>(messages.size());
    for (JsonNode message : messages) {
      prepared.add(rules.message(message));
    }
    return prepared;
  }

  private Map<String, @Nullable Object> message(JsonNode message) {
    String given = message.path("role").textValue();
    if (given == null) {
      throw new Request("messages must be objects, each with a role");
    }
    String role = given.equals("user") ? given : given.toLowerCase(Locale.ROOT);
    LinkedHashMap<String, @Nullable Object> out = new LinkedHashMap<>();
    out.put("role", role);
    out.put(CONTENT, content(message.path(CONTENT), role));
    if (given.equals("user")) {
      return out;
    }
    if (!ROLES.contains(role)) {
      throw new Request("a message's role must be user or one of " + ROLES.stream().sorted().toList());
    }
    text(message, "tool_call_id", out);
    text(message, "name", out);
    text(message, "phase", out);
    text(message, "reasoning_content", out);
    JsonNode calls = message.path("tool_calls");
    if (calls.isArray()) {
      out.put("tool_calls", toolCalls(calls, role));
    }
    JsonNode tools = message.path("tools");
    if (tools.isArray()) {
      out.put("tools", SglangTools.of(tools, version));
    }
    if (message.path("prefix").isBoolean()) {
      out.put("prefix", message.path("prefix").booleanValue());
    }
    if (message.path(CONTENT).isArray() && format == ContentFormat.OPENAI) {
      out.putLast(CONTENT, requireNonNull(out.remove(CONTENT)));
    }
    return out;
  }

  private static void text(JsonNode from, String field, Map<String, @Nullable Object> to) {
    if (from.path(field).isTextual()) {
      to.put(field, from.path(field).textValue());
    }
  }

  private Object content(JsonNode content, String role) {
    if (content.isTextual()) {
      return content.textValue();
    }
    if (content.isNull() || content.isMissingNode()) {
      return "";
    }
    if (!content.isArray()) {
      throw new Request("the content of a message must be a text or a list of parts");
    }
    List<Map<String, @Nullable Object>> parts = new ArrayList<>(content.size());
    for (JsonNode part : content) {
      Map<String, @Nullable Object> kept = part(part);
      if (kept != null) {
        parts.add(kept);
      }
    }
    boolean joined =
        format == ContentFormat.STRING || (role.equals("tool") && parts.stream().allMatch(SglangMessages::isText));
    return joined ? String.join(" ", parts.stream().filter(SglangMessages::isText).map(SglangMessages::text).toList())
        : parts;
  }

  private static boolean isText(Map<String, @Nullable Object> part) {
    return "text".equals(part.get("type"));
  }

  private static String text(Map<String, @Nullable Object> part) {
    return String.valueOf(part.get("text"));
  }

  /** A part for the template, null if it is left out; media are their kind alone. */
  private static @Nullable Map<String, @Nullable Object> part(JsonNode part) {
    String type = part.path("type").asText();
    Map<String, @Nullable Object> kept = new LinkedHashMap<>();
    switch (type) {
      case "text" -> {
        kept.put("type", "text");
        kept.put("text", part.path("text").asText());
      }
      case "image_url", "video_url", "audio_url" -> kept.put("type", type.substring(0, type.indexOf('_')));
      case "input_audio" -> kept.put("type", "audio");
      case "tool_reference" -> {
        kept.put("type", type);
        kept.put("name", part.path("name").asText());
      }
      case "thinking", "reasoning" -> {
        return null;
      }
      default -> throw new Request("a message's content has a part of a type that SGLang does not take");
    }
    return kept;
  }

  private List<@Nullable Object> toolCalls(JsonNode calls, String role) {
    List<@Nullable Object> prepared = new ArrayList<>(calls.size());
    for (JsonNode call : calls) {
      JsonNode function = call.path("function");
      if (!function.isObject()) {
        throw new Request("an assistant's tool_calls must be of type function");
      }
      Map<String, @Nullable Object> called = new LinkedHashMap<>();
      called.put("name", JsonValues.of(function.get("name")));
      called.put("arguments", role.equals("assistant") ? arguments(function.path("arguments"))
          : JsonValues.of(function.get("arguments")));
      Map<String, @Nullable Object> out = new LinkedHashMap<>();
      out.put("id", JsonValues.of(call.get("id")));
      out.put("index", JsonValues.of(call.get("index")));
      out.put("type", "function");
      out.put("function", called);
      prepared.add(out);
    }
    return prepared;
  }

  private @Nullable Object arguments(JsonNode given) {
    if (!given.isTextual()) {
      return JsonValues.of(given);
    }
    try {
      JsonNode value = MAPPER.readTree(given.textValue());
      if (value.isObject() || !(value.isMissingNode() || SglangRule.OBJECT_ARGUMENTS.holds(version))) {
        return floats(JsonValues.of(value));
      }
    } catch (JsonProcessingException notJson) {
      // Refused as what is JSON and no object.
    }
    throw new Request("the arguments of a tool call must be a JSON object");
  }

  /** Integers of more than 64 bits are read as floats. */
  private static @Nullable Object floats(@Nullable Object value) {
    return switch (value) {
      case BigInteger big when big.signum() < 0 || big.bitLength() > Long.SIZE -> big.doubleValue();
      case List<?> list -> {
        List<@Nullable Object> read = new ArrayList<>(list.size());
        list.forEach(each -> read.add(floats(each)));
        yield read;
      }
      case Map<?, ?> map -> {
        Map<Object, @Nullable Object> read = new LinkedHashMap<>();
        map.forEach((name, each) -> read.put(name, floats(each)));
        yield read;
      }
      case null, default -> value;
    };
  }
}
