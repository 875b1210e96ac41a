package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.chat.VllmReasoning;
import io.kvasir.prompt.chat.VllmRule;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.prompt.template.RenderedText;
import io.kvasir.prompt.template.TemplateException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The text of a chat completion for a model of this format, as vLLM 0.26 and later make it ({@code
 * entrypoints/openai/parser/harmony_utils.py}); earlier ones keep earlier thoughts otherwise. It ends where the answer
 * begins. Templates, their arguments and media are not read.
 *
 * <p>The engine's option to give system messages to the model as such is not known here, nor are tools of its own.
 */
final class VllmHarmony {
  /** A field of an assistant's message with the channel in which it is even without a text: no client has it. */
  static final String CHANNEL = "channel";

  /** The channel of answers. */
  static final String FINAL = HarmonyMessage.FINAL;

  /** The channel of thoughts. */
  static final String ANALYSIS = HarmonyMessage.ANALYSIS;

  /** The channel of calls, and of what is said beside them. */
  static final String COMMENTARY = HarmonyMessage.COMMENTARY;

  /** The efforts that the format has. */
  static final Set<String> EFFORTS = Set.of("low", "medium", "high");

  private static final Set<String> INSTRUCTING = Set.of("system", "developer");
  private static final Set<String> FOREIGN = Set.of("input_text", "output_text");
  private static final Set<String> FIELDS = Set.of("role", "content", "name", "tool_call_id");

  private final JsonNode body;
  private final VllmVersion engine;
  private final List<HarmonyMessage> messages = new ArrayList<>();
  private final Map<String, String> functions = new HashMap<>();

  private VllmHarmony(JsonNode body, VllmVersion engine) {
    this.body = body;
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
  static RenderedText render(JsonNode body, VllmVersion engine, String date) {
    return new VllmHarmony(body, engine).render(date);
  }

  private RenderedText render(String date) {
    List<JsonNode> given = new ArrayList<>();
    body.path("messages").forEach(given::add);
    String instructions = null;
    boolean instructed = VllmRule.HARMONY_INSTRUCTIONS.holds(engine);
    if (instructed && !given.isEmpty() && INSTRUCTING.contains(role(given.getFirst()))) {
      instructions = text(given.removeFirst());
    }
    preamble(instructions, date);
    for (JsonNode message : given) {
      message.path("tool_calls").forEach(
          call -> functions.put(call.path("id").asText(), call.path("function").path("name").asText("None")));
    }
    given.forEach(this::add);

    HarmonyText text = new HarmonyText();
    boolean recipientsLast = VllmRule.HARMONY_RECIPIENTS.holds(engine);
    int lastFinal = messages.size() - 1;
    while (lastFinal >= 0 && !messages.get(lastFinal).isOfAssistant(HarmonyMessage.FINAL)) {
      lastFinal--;
    }
    for (int i = 0; i < messages.size(); i++) {
      // What was thought before an answer is not for the next one.
      if (i >= lastFinal || !HarmonyMessage.ANALYSIS.equals(messages.get(i).channel())) {
        messages.get(i).print(text, recipientsLast);
      }
    }
    text.special(HarmonyMessage.START);
    text.text(HarmonyMessage.ASSISTANT);
    return text.rendered();
  }

  /** The system's message, and the developer's where there are instructions or tools. */
  private void preamble(@Nullable String instructions, String date) {
    String effort = body.hasNonNull("reasoning_effort") ? body.get("reasoning_effort").asText() : "medium";
    if (!EFFORTS.contains(effort)) {
      throw new TemplateException.Request("reasoning_effort must be low, medium or high for this model");
    }
    List<JsonNode> tools = new ArrayList<>();
    body.path("tools").forEach(tool -> tools.add(tool.path("function")));
    messages.add(HarmonyMessage.of("system", HarmonyPreamble.system(effort, date, !tools.isEmpty())));
    if ((instructions != null && !instructions.isEmpty()) || !tools.isEmpty()) {
      messages.add(HarmonyMessage.of("developer", HarmonyPreamble.developer(instructions, tools)));
    }
  }

  private void add(JsonNode message) {
    String role = role(message);
    switch (role) {
      case "assistant" -> addAssistant(message);
      case "tool" -> {
        String output = text(message);
        messages.add(
            HarmonyMessage.result(
                functions.getOrDefault(message.path("tool_call_id").asText(), ""), output == null ? "" : output));
      }
      case "system", "developer" -> instruct(message);
      case "user" -> messages.add(HarmonyMessage.of(role, texts(message)));
      default -> throw new TemplateException.Request("messages: this model has no role " + role);
    }
  }

  private void instruct(JsonNode message) {
    if (!VllmRule.HARMONY_INSTRUCTIONS.holds(engine)) {
      messages.add(HarmonyMessage.of(role(message), texts(message)));
      return;
    }
    String text = text(message);
    if (text != null) {
      messages.add(HarmonyMessage.of("developer", HarmonyPreamble.developer(text, List.of())));
    }
  }

  private void addAssistant(JsonNode message) {
    String thoughts = Objects.requireNonNullElse(VllmReasoning.of(message, engine), "");
    JsonNode calls = message.path("tool_calls");
    if (!calls.isEmpty()) {
      String text = text(message);
      if (text != null && !text.isEmpty()) {
        messages.add(HarmonyMessage.ofAssistant(HarmonyMessage.COMMENTARY, List.of(text)));
      }
      think(thoughts, false);
      for (JsonNode call : calls) {
        JsonNode function = call.path("function");
        messages.add(
            HarmonyMessage.call(function.path("name").asText(""), function.path("arguments").asText("")));
      }
      return;
    }
    String channel = message.path(CHANNEL).asText();
    think(thoughts, channel.equals(ANALYSIS));
    List<String> texts = texts(message);
    if (channel.equals(FINAL) || (!texts.isEmpty() && !texts.getFirst().isEmpty())) {
      messages.add(HarmonyMessage.ofAssistant(HarmonyMessage.FINAL, texts));
    }
  }

  private void think(String thoughts, boolean always) {
    if (always || !thoughts.isEmpty()) {
      messages.add(HarmonyMessage.ofAssistant(HarmonyMessage.ANALYSIS, List.of(thoughts)));
    }
  }

  /** Whether a message of the API's own type has parts of another API: a request's check leaves nothing of these. */
  private static boolean isLost(JsonNode message) {
    for (JsonNode part : message.path("content")) {
      if (!FOREIGN.contains(part.path("type").asText())) {
        return false;
      }
    }
    boolean typed = message.properties().stream().allMatch(field -> FIELDS.contains(field.getKey()));
    return typed && role(message).equals("tool") == message.has("tool_call_id");
  }

  private static String role(JsonNode message) {
    return message.path("role").asText();
  }

  /** The text of a message, its parts' one after the other; null when it has none. */
  private @Nullable String text(JsonNode message) {
    JsonNode content = message.path("content");
    if (content.isTextual()) {
      return content.textValue();
    }
    if (isLost(message)) {
      return null;
    }
    StringBuilder text = new StringBuilder();
    boolean any = false;
    for (JsonNode part : content) {
      if (!VllmRule.HARMONY_INSTRUCTIONS.holds(engine) && !part.path("type").asText().equals("text")) {
        continue;
      }
      JsonNode its = part.isTextual() ? part : part.path("text");
      any |= its.isTextual();
      text.append(its.asText(""));
    }
    return any ? text.toString() : null;
  }

  /** The texts of a message's parts. */
  private static List<String> texts(JsonNode message) {
    JsonNode content = message.path("content");
    if (!content.isArray()) {
      return List.of(content.asText(""));
    }
    List<String> texts = new ArrayList<>();
    content.forEach(part -> texts.add(part.path("text").asText("")));
    return texts;
  }
}
