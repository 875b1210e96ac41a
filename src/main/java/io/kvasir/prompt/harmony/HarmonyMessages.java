package io.kvasir.prompt.harmony;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.template.RenderedText;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Messages of this format as the body of a chat completion, for engines that make them of other bodies: each has its
 * author as role, its texts as parts, and a recipient and a channel.
 */
final class HarmonyMessages {
  /** The field by which such a body is known: its value is none that a client can write. */
  private static final String MARK = "harmony_messages";

  private final ObjectNode body = JsonNodeFactory.instance.objectNode();
  private final ArrayNode messages = body.putPOJO(MARK, MARK).putArray("messages");

  /** The functions that were called, by the ids of their last calls. */
  private final Map<String, String> calls = new HashMap<>();

  /** Adds one. */
  void add(String author, @Nullable String recipient, @Nullable String channel, List<String> texts) {
    ObjectNode message = messages.addObject().put("role", author);
    if (recipient != null) {
      message.put("recipient", recipient);
    }
    if (channel != null) {
      message.put("channel", channel);
    }
    ArrayNode parts = message.putArray("content");
    texts.forEach(text -> parts.addObject().put("type", "text").put("text", text));
  }

  /** Adds a call of a function. */
  void addCall(String id, String function, String arguments) {
    calls.put(id, function);
    add(
        HarmonyMessage.ASSISTANT, HarmonyMessage.FUNCTIONS + function, HarmonyMessage.COMMENTARY, List.of(arguments));
  }

  /** The function of the last call with an id, null where there was none. */
  @Nullable String called(String id) {
    return calls.get(id);
  }

  /** Adds what a function has answered, to nobody and in no channel. */
  void addResult(String function, String output) {
    add(HarmonyMessage.FUNCTIONS + function, null, null, List.of(output));
  }

  /** Adds the input of a {@code /v1/responses} body: a user's text, or items, by {@code adding} each. */
  void addInput(JsonNode input, Consumer<JsonNode> adding) {
    if (input.isTextual()) {
      add("user", null, null, List.of(input.textValue()));
    }
    input.forEach(adding);
  }

  /** The body that has those that were added. */
  ObjectNode body() {
    return body;
  }

  /** Whether a body is one of these. */
  static boolean isIn(JsonNode body) {
    return body.path(MARK).isPojo();
  }

  /**
   * Renders such a body as the reference library does until 0.0.8: recipients before channels, and of thoughts before
   * the first answer none when the last message of the assistant is an answer.
   *
   * @return for a tokenizer that knows breaks
   */
  static RenderedText render(JsonNode body) {
    List<HarmonyMessage> all = new ArrayList<>();
    body.path("messages").forEach(message -> all.add(read(message)));
    return render(all);
  }

  static RenderedText render(List<HarmonyMessage> all) {
    int firstFinal = 0;
    while (firstFinal < all.size() && !HarmonyMessage.FINAL.equals(all.get(firstFinal).channel())) {
      firstFinal++;
    }
    boolean answered =
        all.reversed().stream()
            .filter(message -> message.author().equals(HarmonyMessage.ASSISTANT))
            .findFirst()
            .filter(message -> message.isOfAssistant(HarmonyMessage.FINAL))
            .isPresent();
    HarmonyText text = new HarmonyText();
    for (int i = 0; i < all.size(); i++) {
      if (!answered || i >= firstFinal || !HarmonyMessage.ANALYSIS.equals(all.get(i).channel())) {
        all.get(i).print(text, false);
      }
    }
    text.special(HarmonyMessage.START);
    text.text(HarmonyMessage.ASSISTANT);
    return text.rendered();
  }

  private static HarmonyMessage read(JsonNode message) {
    List<String> texts = new ArrayList<>();
    message.path("content").forEach(part -> texts.add(part.path("text").asText()));
    String author = message.path("role").asText();
    String recipient = message.path("recipient").textValue();
    boolean call = recipient != null && author.equals(HarmonyMessage.ASSISTANT);
    return new HarmonyMessage(
        author, recipient, message.path("channel").textValue(), call ? HarmonyMessage.JSON : null, texts);
  }
}
