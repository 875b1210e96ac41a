package io.kvasir.execution.dispatch;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.stream.PartialAnswer;
import io.kvasir.http.ApiPath;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Builds the request for the rest of a stream that was cut: a completion's prompt grows by the text the client has, a
 * conversation by an assistant's message that the engine continues. What was
 * generated is taken from the limits; everything else stays as the client wrote it. So a greedy model goes on as it
 * would have, and one that samples gives one of the answers that it could have given. Immutable.
 *
 * @param original the client's request
 */
record Continuation(ClientRequest original) {
  /** Tokens that OpenAI's completions API generates without a limit in the request. */
  private static final int COMPLETION_TOKENS = 16;
  private static final List<String> LIMITS = List.of("max_tokens", "max_completion_tokens");
  /** Fields of constrained generation: the grammar would begin again in the middle of its text. */
  private static final List<String> STRUCTURE = List.of(
      "structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar", "guided_decoding",
      "structural_tag", "json_schema", "regex", "ebnf");
  private static final List<String> LOG_PROBABILITIES = List.of("top_logprobs", "prompt_logprobs");
  private static final List<String> SEVERAL = List.of("n", "best_of");
  /** What depends on how long ago something was generated, which the rest's engine takes for a prompt. */
  private static final List<String> PENALTIES = List.of("frequency_penalty", "presence_penalty", "bad_words");
  /** What some engines count over the whole text and others over what they have generated; 1 for none. */
  private static final String REPETITION = "repetition_penalty";
  private static final String STREAM_OPTIONS = "stream_options";
  /** Members about the prompt or the text behind it, which will be another prompt. */
  private static final List<String> PROMPT =
      List.of("echo", "suffix", "return_token_ids", "prompt_embeds", "truncate_prompt_tokens", "use_beam_search");

  boolean chat() {
    return original.api() == ApiPath.CHAT;
  }

  /** The target of the request for the rest: the client's, or that of another API by which it is continued. */
  String target(String client) {
    return original.api() == ApiPath.of(client) ? client : original.path();
  }

  /** Whether the request has the event with a stream's usage. */
  boolean usageRequested() {
    return original.members().value(STREAM_OPTIONS).path("include_usage").asBoolean(false);
  }

  /** Whether the request has usage in every event, where it {@linkplain #usageRequested has it at all}. */
  boolean continuousUsageRequested() {
    return original.members().value(STREAM_OPTIONS).path("continuous_usage_stats").asBoolean(false);
  }

  /** Whether the answer depends on the number of tokens that have been generated. */
  boolean countsTokens(boolean usageInjected) {
    JsonMembers members = original.members();
    return (usageRequested() && !usageInjected)
        || LIMITS.stream().anyMatch(name -> isLimit(members.value(name)))
        || isTrue(members, "min_tokens")
        || hasStandardLimit();
  }

  /** Whether it leaves the limit out where the API has one of its own. */
  private boolean hasStandardLimit() {
    return original.api() == ApiPath.COMPLETIONS
        && LIMITS.stream().noneMatch(name -> original.members().value(name).isNumber());
  }

  /** Whether an engine may have generated tokens whose text it held back, for it may be the begin of a stop text. */
  boolean mayHoldText() {
    return isTrue(original.members(), "stop");
  }

  /** Whether there may be nothing left to be generated, when at most so many tokens have been. */
  boolean mayBeOver(int most) {
    return (hasStandardLimit() && most >= COMPLETION_TOKENS)
        || LIMITS.stream().map(original.members()::value).anyMatch(limit -> isLimit(limit) && most >= tokens(limit));
  }

  /** Tokens that may still be generated, 0 or less when there are none, {@link Integer#MAX_VALUE} without a limit. */
  int remainingTokens(int generated) {
    // An engine that has generated more without a limit in the request has no such default.
    if (hasStandardLimit() && generated <= COMPLETION_TOKENS) {
      return COMPLETION_TOKENS - generated;
    }
    int left = Integer.MAX_VALUE;
    for (String name : LIMITS) {
      JsonNode limit = original.members().value(name);
      if (isLimit(limit)) {
        left = Math.min(left, tokens(limit) - generated);
      }
    }
    return left;
  }

  /**
   * Whether the engine has reported more tokens than those that count of its text, and by those alone a default limit
   * would hold that it cannot have.
   */
  boolean isWithoutDefault(PartialAnswer answer, int counted) {
    return answer.isReported()
        && remainingTokens(answer.generated()) == Integer.MAX_VALUE
        && remainingTokens(counted) != Integer.MAX_VALUE;
  }

  /** Whether it limits anything: some engines take −1 for no limit. */
  private static boolean isLimit(JsonNode limit) {
    return limit.isNumber() && limit.doubleValue() >= 0;
  }

  /** A number of tokens, {@link Integer#MAX_VALUE} for any above it. */
  private static int tokens(JsonNode number) {
    return (int) number.doubleValue();
  }

  /**
   * The body of the request for the rest, whose events have the usage up to them: what the prompt's tokens are shows
   * whether its engine goes on from the text, as some would begin an answer of their own.
   *
   * @param text what the client has of the answer; without any, only the limits change
   * @param generated its tokens
   */
  byte[] body(String text, int generated) {
    JsonMembers members = limited(generated);
    if (text.isEmpty()) {
      return members.bytes();
    }
    members = reporting(members);
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

  private static JsonMembers reporting(JsonMembers members) {
    JsonMembers given = members.object(STREAM_OPTIONS);
    JsonMembers options = given == null ? JsonMembers.empty() : given;
    return members.with(
        STREAM_OPTIONS, options.with("include_usage", "true").with("continuous_usage_stats", "true").toString());
  }

  private JsonMembers limited(int generated) {
    JsonMembers members = original.members();
    for (String name : LIMITS) {
      JsonNode limit = members.value(name);
      if (isLimit(limit)) {
        members = members.with(name, Integer.toString(tokens(limit) - generated));
      }
    }
    if (hasStandardLimit() && remainingTokens(generated) != Integer.MAX_VALUE) {
      members = members.with("max_tokens", Integer.toString(remainingTokens(generated)));
    }
    JsonNode least = members.value("min_tokens");
    return least.isNumber()
        ? members.with("min_tokens", Integer.toString(Math.max(0, tokens(least) - generated)))
        : members;
  }

  /**
   * Why the stream cannot be continued, for metrics; null when it can. Without a text so far, all of it is requested
   * again.
   *
   * @param text what the client has of the answer, as far as it is known
   */
  @Nullable String unsupportedReason(boolean hasText, String text) {
    JsonMembers members = original.members();
    return hasSeveralAnswers() ? "several-answers"
        : !hasText ? null
        : endsInStop(members.value("stop"), text) ? "stop"
        : bindsTools(members) ? "tools"
        : isStructured(members) ? "structured-output"
        : hasLogProbabilities(members) ? "log-probabilities"
        : dependsOnPosition(members) ? "sampling"
        : any(members, PROMPT) ? "prompt"
        : chat() ? unsupportedConversation(members)
        : isContinuable(members.value("prompt")) ? null
        : "prompt";
  }

  /** Whether a text can follow: after a blank its first word would have other tokens than it was generated with. */
  private static boolean isContinuable(JsonNode prompt) {
    String text = prompt.textValue();
    return text != null && (text.isEmpty() || !Character.isWhitespace(text.charAt(text.length() - 1)));
  }

  /** Whether the text ends with what may be the begin of a stop text: its end would not be recognised as that. */
  private static boolean endsInStop(JsonNode stop, String text) {
    if (stop.isArray()) {
      return stop.valueStream().anyMatch(each -> endsInStop(each, text));
    }
    String end = stop.asText("");
    for (int length = Math.min(end.length() - 1, text.length()); length > 0; length--) {
      if (text.regionMatches(text.length() - length, end, 0, length)) {
        return true;
      }
    }
    return false;
  }

  /** Whether the stream has more than one answer. */
  boolean hasSeveralAnswers() {
    JsonMembers members = original.members();
    return SEVERAL.stream().anyMatch(name -> members.value(name).asDouble(1) > 1)
        || ClientRequest.isBatch(members.value("prompt"));
  }

  /** Whether the answer is a call, not a text after which the model may decide on one. */
  private static boolean bindsTools(JsonMembers members) {
    JsonNode choice = members.value("tool_choice");
    return choice.isObject() || choice.asText().equals("required") || isTrue(members, "functions");
  }

  private static boolean isStructured(JsonMembers members) {
    JsonNode format = members.value("response_format");
    return any(members, STRUCTURE) || (format.isObject() && !format.path("type").asText().equals("text"));
  }

  private static boolean hasLogProbabilities(JsonMembers members) {
    // In the completions API 0 means those of the chosen tokens.
    return any(members, LOG_PROBABILITIES) || members.value("logprobs").isNumber() || isTrue(members, "logprobs");
  }

  /** Whether the rest depends on more than the text before it: a seed would begin anew, penalties would forget. */
  private static boolean dependsOnPosition(JsonMembers members) {
    boolean seeded = members.hasValue("seed") && members.value("temperature").asDouble(1) > 0;
    return seeded || any(members, PENALTIES) || members.value(REPETITION).asDouble(1) != 1;
  }

  private static @Nullable String unsupportedConversation(JsonMembers members) {
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

  /** Whether a member has an effect: it is neither null, false, 0 nor empty. */
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
