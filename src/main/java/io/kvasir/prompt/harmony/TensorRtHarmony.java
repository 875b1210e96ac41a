package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.chat.TensorRtMessages;
import io.kvasir.prompt.chat.TensorRtVersion;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.TemplateException;
import io.kvasir.prompt.template.Text;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The messages that TensorRT-LLM makes of a chat completion. Texts are stripped, and those of parts stand on lines of
 * their own; what the system says is who the model is, and the developer always says something, if only nothing. An
 * answer may have a preamble between tokens that are written out. Of calls to tools there are those of messages that
 * the server does not take for the API's own type ({@link TensorRtMessages#isTyped}): of the others it reads them
 * twice, and the second time there are none.
 *
 * <p>Source: TensorRT-LLM {@code serve/harmony_adapter.py}.
 */
final class TensorRtHarmony {
  private static final Set<String> EFFORTS = Set.of("low", "medium", "high");
  private static final String PREAMBLE_BEGIN = "<|channel|>commentary<|message|>";
  private static final String PREAMBLE_END = "<|end|>";

  private final TensorRtVersion engine;
  private final List<HarmonyMessage> messages = new ArrayList<>();
  private final List<String> identity = new ArrayList<>();
  private final List<String> instructions = new ArrayList<>();
  private final Map<String, String> functions = new HashMap<>();

  /** The functions that may be called, null when none was given. */
  private @Nullable Set<String> callable;

  private TensorRtHarmony(TensorRtVersion engine) {
    this.engine = engine;
  }

  /**
   * Renders a chat completion.
   *
   * @param body a {@code /v1/chat/completions} request
   * @param engine its version
   * @param date such as 2026-11-28: the engine's, which conversations begin with
   * @return for a tokenizer that knows breaks
   * @throws TemplateException.Request when the engine refuses the request
   */
  static RenderedText render(JsonNode body, TensorRtVersion engine, String date) {
    return new TensorRtHarmony(engine).render(body, date);
  }

  private RenderedText render(JsonNode body, String date) {
    List<JsonNode> tools = tools(body);
    for (JsonNode message : body.path("messages")) {
      read(message);
    }
    String effort = !body.has("reasoning_effort") ? "low" : body.path("reasoning_effort").asText("high");
    if (!EFFORTS.contains(effort)) {
      throw new TemplateException.Request("reasoning_effort must be low, medium or high for this model");
    }
    String system = HarmonyPreamble.system(String.join("\n", identity), effort, date, !tools.isEmpty());
    messages.add(HarmonyMessage.of("system", system));
    String told = instructions.isEmpty() ? null : String.join("\n", instructions);
    messages.add(HarmonyMessage.of("developer", HarmonyPreamble.developer(told, tools)));
    for (JsonNode message : body.path("messages")) {
      add(message);
    }
    return HarmonyMessages.render(messages);
  }

  /** The functions of a body that the model is told of. */
  private List<JsonNode> tools(JsonNode body) {
    List<JsonNode> tools = new ArrayList<>();
    if (body.path("tools").isEmpty() || body.path("tool_choice").asText().equals("none")) {
      return tools;
    }
    List<String> names = new ArrayList<>();
    for (JsonNode tool : body.path("tools")) {
      String name = tool.path("function").path("name").asText("");
      if (!name.isEmpty()) {
        names.add(name);
        tools.add(tool.path("function"));
      }
    }
    callable = Set.copyOf(names);
    return tools;
  }

  private void read(JsonNode message) {
    String text = text(message);
    switch (message.path("role").asText()) {
      case "system" -> addUnlessEmpty(text, identity);
      case "developer" -> addUnlessEmpty(text, instructions);
      case "assistant" -> message.path("tool_calls").forEach(call -> {
        String id = call.path("id").asText("");
        String name = call.path("function").path("name").asText("");
        if (!id.isEmpty() && !name.isEmpty()) {
          functions.put(id, name);
        }
      });
      default -> { }
    }
  }

  private static void addUnlessEmpty(@Nullable String text, List<String> to) {
    if (text != null && !text.isEmpty()) {
      to.add(Text.strip(text));
    }
  }

  private void add(JsonNode message) {
    switch (message.path("role").asText()) {
      case "user" -> messages.add(HarmonyMessage.of("user", orEmpty(text(message))));
      case "assistant" -> {
        String thoughts = message.path("reasoning").asText("");
        if (!thoughts.isEmpty()) {
          messages.add(HarmonyMessage.ofAssistant(HarmonyMessage.ANALYSIS, List.of(thoughts)));
        }
        addAnswer(message);
      }
      case "tool" -> {
        String id = message.path("tool_call_id").asText("");
        String tool = functions.containsKey(id) ? functions.get(id) : message.path("name").asText("tool");
        String author = tool.contains(".") || tool.isEmpty() ? tool : HarmonyMessage.FUNCTIONS + tool;
        messages.add(new HarmonyMessage(
            author, HarmonyMessage.ASSISTANT, HarmonyMessage.COMMENTARY, null, List.of(orEmpty(text(message)))));
      }
      default -> { }
    }
  }

  private void addAnswer(JsonNode message) {
    String text = orEmpty(text(message));
    String preamble = preamble(text);
    String last = preamble.isEmpty()
        ? text
        : Text.strip(without(PREAMBLE_BEGIN + preamble + PREAMBLE_END, text));
    String thoughts = message.path("reasoning_content").asText("");
    if (last.isEmpty() && !thoughts.isEmpty()) {
      messages.add(HarmonyMessage.ofAssistant(HarmonyMessage.ANALYSIS, List.of(thoughts)));
    }
    if (message.has("tool_calls")) {
      if (!preamble.isEmpty()) {
        messages.add(HarmonyMessage.ofAssistant(HarmonyMessage.COMMENTARY, List.of(preamble)));
      }
      if (!TensorRtMessages.isTyped(message, engine)) {
        message.path("tool_calls").forEach(this::addCall);
      }
    } else if (last.isEmpty()) {
      last = text;
    }
    if (!last.isEmpty()) {
      messages.add(HarmonyMessage.ofAssistant(HarmonyMessage.FINAL, List.of(last)));
    }
  }

  /** The first preamble that is written out in an answer, empty when there is none. */
  private static String preamble(String text) {
    int begin = text.indexOf(PREAMBLE_BEGIN);
    int from = begin + PREAMBLE_BEGIN.length();
    int end = begin < 0 ? -1 : text.indexOf(PREAMBLE_END, from);
    return end < 0 ? "" : Text.strip(text.substring(from, end));
  }

  /**
   * A text without a preamble, wherever it stands. It has one end, its own: so each stretch of the text between two
   * ends is compared with it once, however many beginnings there are.
   */
  private static String without(String preamble, String text) {
    StringBuilder rest = new StringBuilder(text.length());
    int from = 0;
    for (int end = text.indexOf(PREAMBLE_END); end >= 0; end = text.indexOf(PREAMBLE_END, from)) {
      int stop = end + PREAMBLE_END.length();
      int begin = stop - preamble.length();
      rest.append(text, from, begin >= from && text.startsWith(preamble, begin) ? begin : stop);
      from = stop;
    }
    return rest.append(text, from, text.length()).toString();
  }

  private void addCall(JsonNode call) {
    JsonNode function = call.path("function");
    String name = function.path("name").asText("");
    if (callable == null || callable.contains(name)) {
      messages.add(new HarmonyMessage(
          HarmonyMessage.ASSISTANT, HarmonyMessage.FUNCTIONS + name, HarmonyMessage.COMMENTARY,
          HarmonyMessage.CONSTRAINED_JSON, List.of(function.path("arguments").asText("{}"))));
    }
  }

  private static String orEmpty(@Nullable String text) {
    return text == null ? "" : text;
  }

  /** The text of a message, its parts' on lines of their own; null when it has none. */
  private static @Nullable String text(JsonNode message) {
    JsonNode content = message.path("content");
    if (content.isTextual()) {
      return content.textValue().isEmpty() ? null : Text.strip(content.textValue());
    }
    if (content.isEmpty()) {
      return null;
    }
    List<String> texts = new ArrayList<>();
    for (JsonNode part : content) {
      if (part.path("text").isTextual()) {
        texts.add(Text.strip(part.path("text").textValue()));
      }
    }
    return String.join("\n", texts);
  }
}
