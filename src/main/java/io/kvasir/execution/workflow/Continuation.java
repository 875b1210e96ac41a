package io.kvasir.execution.workflow;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.http.ApiPath;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a request whose stream was cut is put to another worker, so that it says the rest: a completion's prompt grows by
 * the text the client has, a conversation by an assistant's message that the engine is asked to go on with. What was
 * generated is taken from the limits; everything else stays as the client wrote it. Immutable.
 *
 * @param original the client's request
 */
record Continuation(ClientRequest original) {
  /** What OpenAI's completions API generates when it is not told how much. */
  private static final int COMPLETION_TOKENS = 16;
  private static final List<String> LIMITS = List.of("max_tokens", "max_completion_tokens");
  private static final List<String> TOOLS = List.of("tools", "functions");
  /** The grammar would begin anew in the middle of its text. */
  private static final List<String> STRUCTURE = List.of(
      "structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "guided_decoding",
      "structural_tag", "json_schema", "regex", "ebnf");
  private static final List<String> LOG_PROBABILITIES = List.of("top_logprobs", "prompt_logprobs");
  private static final List<String> SEVERAL = List.of("n", "best_of");
  /** What is told of the prompt, stands behind the text, or says how to read a prompt that will be another. */
  private static final List<String> PROMPT =
      List.of("echo", "suffix", "return_token_ids", "prompt_embeds", "truncate_prompt_tokens", "use_beam_search");

  boolean chat() {
    return original.api() == ApiPath.CHAT;
  }

  /** Whether the client asked for the event that tells a stream's usage. */
  boolean usageRequested() {
    return original.members().value("stream_options").path("include_usage").asBoolean(false);
  }

  /** Tokens that may still be generated, 0 or less when there are none, {@link Integer#MAX_VALUE} without a limit. */
  int remainingTokens(int generated) {
    int left = Integer.MAX_VALUE;
    boolean told = false;
    for (String name : LIMITS) {
      JsonNode limit = original.members().value(name);
      if (limit.isNumber()) {
        told = true;
        left = Math.min(left, limit.intValue() - generated);
      }
    }
    // An engine that has gone beyond that without being told has no such limit.
    boolean standard = !told && !chat() && generated <= COMPLETION_TOKENS;
    return standard ? COMPLETION_TOKENS - generated : left;
  }

  /**
   * The body of the request for the rest.
   *
   * @param text what the client has of the answer; without any, the request is asked as it was
   * @param generated its tokens
   */
  byte[] body(String text, int generated) {
    JsonMembers members = limited(generated);
    if (text.isEmpty()) {
      return members.bytes();
    }
    String quoted = TextNode.valueOf(text).toString();
    if (!chat()) {
      String prompt = String.valueOf(members.json("prompt"));
      return members.with("prompt", prompt.substring(0, prompt.length() - 1) + quoted.substring(1)).bytes();
    }
    String messages = String.valueOf(members.json("messages"));
    String turn = ",{\"role\":\"assistant\",\"content\":" + quoted + "}]";
    return members
        .with("messages", messages.substring(0, messages.lastIndexOf(']')) + turn)
        .with("continue_final_message", "true")
        .with("add_generation_prompt", "false")
        .bytes();
  }

  private JsonMembers limited(int generated) {
    JsonMembers members = original.members();
    boolean told = false;
    for (String name : LIMITS) {
      JsonNode limit = members.value(name);
      if (limit.isNumber()) {
        told = true;
        members = members.with(name, Integer.toString(limit.intValue() - generated));
      }
    }
    if (!told && remainingTokens(generated) != Integer.MAX_VALUE) {
      members = members.with("max_tokens", Integer.toString(remainingTokens(generated)));
    }
    JsonNode least = members.value("min_tokens");
    return least.isNumber()
        ? members.with("min_tokens", Integer.toString(Math.max(0, least.intValue() - generated)))
        : members;
  }

  /** Why a request's stream cannot be continued, for metrics; null when it can. */
  static @Nullable String unsupportedReason(ClientRequest asked) {
    JsonMembers members = asked.members();
    boolean chat = asked.api() == ApiPath.CHAT;
    if (!chat && asked.api() != ApiPath.COMPLETIONS) {
      return "api";
    }
    if (any(members, TOOLS)) {
      return "tools";
    }
    JsonNode format = members.value("response_format");
    if (any(members, STRUCTURE) || (format.isObject() && !format.path("type").asText().equals("text"))) {
      return "structured-output";
    }
    // In the completions API 0 asks for those of the tokens that were chosen.
    if (any(members, LOG_PROBABILITIES) || members.value("logprobs").isNumber() || isTrue(members, "logprobs")) {
      return "log-probabilities";
    }
    for (String name : SEVERAL) {
      if (members.value(name).asDouble(1) > 1) {
        return "several-answers";
      }
    }
    if (any(members, PROMPT)) {
      return "prompt";
    }
    return chat ? unfitConversation(members) : members.value("prompt").isTextual() ? null : "prompt";
  }

  private static @Nullable String unfitConversation(JsonMembers members) {
    boolean ownEnd = isTrue(members, "continue_final_message")
        || (members.hasValue("add_generation_prompt") && !isTrue(members, "add_generation_prompt"));
    String messages = members.json("messages");
    return ownEnd ? "continued-message"
        : messages == null || !messages.startsWith("[") || messages.indexOf('{') < 0 ? "prompt"
        : null;
  }

  private static boolean any(JsonMembers members, List<String> names) {
    return names.stream().anyMatch(name -> isTrue(members, name));
  }

  /** Whether something is asked for with it: it is neither null, false, 0 nor empty. */
  private static boolean isTrue(JsonMembers members, String name) {
    JsonNode value = members.value(name);
    return switch (value.getNodeType()) {
      case MISSING, NULL -> false;
      case BOOLEAN -> value.booleanValue();
      case NUMBER -> value.doubleValue() != 0;
      case STRING -> !value.textValue().isEmpty();
      case ARRAY, OBJECT, BINARY, POJO -> !value.isEmpty();
    };
  }
}
