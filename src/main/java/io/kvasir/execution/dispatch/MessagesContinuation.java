package io.kvasir.execution.dispatch;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.execution.dialect.ChatConversion;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.JsonMembers;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Continues a stream of {@code /v1/messages} as a chat: Anthropic's API has no request to go on from a text, while
 * engines serve it by the chat that their own translation makes of it. Only requests are continued of which every
 * engine's translation has the same answer as ours, where it has the same tokens.
 */
final class MessagesContinuation {
  /** The members that change no answer, or change it in a chat as they do in a message. */
  private static final Set<String> SHARED = Set.of(
      "model", "messages", "system", "max_tokens", "stream", "temperature", "top_p", "top_k", "tools", "tool_choice",
      "metadata", "stop_sequences");
  /** The blocks of each role that all engines translate alike. */
  private static final Map<String, Set<String>> BLOCKS =
      Map.of("user", Set.of("text", "tool_result"), "assistant", Set.of("text", "tool_use"));

  private MessagesContinuation() {}

  /** The chat that goes on from a message's text, where that can be continued. */
  static Continuation chat(ClientRequest request, String model, ChatConversion conversion) {
    return new Continuation(conversion.translation(request, model).chat());
  }

  /** Why a text that answers this request cannot be continued, for metrics; null when it can. */
  static @Nullable String unsupportedReason(JsonMembers members) {
    return hasOthers(members) ? "prompt"
        // Some engines name the text that ended a message, others do not.
        : !members.value("stop_sequences").isEmpty() ? "stop"
        : hasOwnTools(members) || members.value("tool_choice").path("disable_parallel_tool_use").asBoolean(false)
        ? "tools"
        : hasOtherBlocks(members.value("messages")) ? "prompt"
        : null;
  }

  private static boolean hasOthers(JsonMembers members) {
    return !members.without(SHARED::contains).isEmpty();
  }

  private static boolean hasOwnTools(JsonMembers members) {
    return members.value("tools").valueStream()
        .anyMatch(tool -> !tool.path("type").asText("custom").equals("custom")
            || !tool.path("name").isTextual()
            // Engines add a type to a schema that has none, and read these by their versions.
            || !tool.path("input_schema").has("type") || tool.hasNonNull("strict") || tool.hasNonNull("defer_loading"));
  }

  /** Whether a message has what engines translate in ways of their own: images, thoughts, no text, a system's turn. */
  private static boolean hasOtherBlocks(JsonNode messages) {
    return messages.valueStream().anyMatch(message -> {
      String role = message.path("role").asText();
      JsonNode content = message.path("content");
      return !BLOCKS.containsKey(role)
          || (!content.isTextual() && (!content.isArray() || content.isEmpty() || content.valueStream().anyMatch(
              block -> !BLOCKS.getOrDefault(role, Set.of()).contains(block.path("type").asText())
                  || isEmptyText(block.path("text")) || hasOtherParts(block.path("content")))));
    });
  }

  private static boolean isEmptyText(JsonNode text) {
    return text.isTextual() && text.textValue().isEmpty();
  }

  private static boolean hasOtherParts(JsonNode result) {
    return result.isArray() && result.valueStream().anyMatch(part -> !part.path("type").asText().equals("text"));
  }
}
