package io.kvasir.execution.stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * What a client has of an answer that several workers may give one after the other, and what all of them have reported
 * of its tokens.
 *
 * <p>Tokens are those the engine reports; while it does not, an event with text counts as one. Where no usage had come
 * from the first worker, its prompt is the second's without what was added to it, and its cached tokens are not known.
 * One thread at a time.
 */
public final class PartialAnswer {
  /** Characters that are kept. */
  private static final int MAX_TEXT = StitchedStream.MAX_HELD;

  private final boolean chat;
  private final StringBuilder text = new StringBuilder();
  private boolean hasRole;
  private boolean finished;
  private boolean hasUsageEvent;
  private boolean resumed;
  private @Nullable String unsupportedReason;
  /** Tokens of the answers of the workers before, and of the current one. */
  private int before;
  private int generated;
  private int promptTokens = Outcome.UNKNOWN;
  private int cachedTokens = Outcome.UNKNOWN;

  /** Nothing yet of an answer by the chat API, or by the completions API. */
  PartialAnswer(boolean chat) {
    this.chat = chat;
  }

  /** What the client has of it. */
  public String text() {
    return text.toString();
  }

  /** Its tokens, as far as they are known. */
  public int generated() {
    return before + generated;
  }

  /** Tokens of the client's prompt, {@link Outcome#UNKNOWN} while no engine has reported it. */
  public int promptTokens() {
    return promptTokens;
  }

  /** Those the first worker found in its cache, {@link Outcome#UNKNOWN} when it did not report them. */
  public int cachedTokens() {
    return cachedTokens;
  }

  /** Whether it has its finish reason: there is no more text. */
  public boolean finished() {
    return finished;
  }

  /** Whether it has its role. */
  boolean hasRole() {
    return hasRole;
  }

  /** Whether the event that has usage alone has come. */
  boolean hasUsageEvent() {
    return hasUsageEvent;
  }

  /** What of it does not allow to continue it, for metrics; null when nothing does. */
  @Nullable public String unsupportedReason() {
    return unsupportedReason;
  }

  /** There is more of it than is kept. */
  void markTooLong() {
    unsupportedReason = "too-long";
  }

  /** Another worker goes on. */
  void nextWorker() {
    resumed = true;
    before += generated;
    generated = 0;
  }

  /** The prompt's tokens, should no engine have reported them. */
  void estimatePrompt(int tokens) {
    if (promptTokens == Outcome.UNKNOWN) {
      promptTokens = tokens;
    }
  }

  /** A choice of an event. */
  void addChoice(JsonNode choice) {
    JsonNode delta = chat ? choice.path("delta") : choice;
    hasRole |= delta.has("role");
    finished |= choice.hasNonNull("finish_reason");
    if (choice.path("index").asInt(0) > 0) {
      unsupportedReason = "several-answers";
    }
    if (!delta.path("tool_calls").isEmpty() || delta.hasNonNull("function_call")) {
      unsupportedReason = "tools";
    }
    if (!delta.path("reasoning_content").asText("").isEmpty() || !delta.path("reasoning").asText("").isEmpty()) {
      // A message to be continued has no place for thoughts.
      unsupportedReason = "reasoning";
    }
    String more = delta.path(chat ? "content" : "text").asText("");
    if (more.isEmpty()) {
      return;
    }
    generated++;
    if (text.length() + more.length() > MAX_TEXT) {
      markTooLong();
      text.setLength(0);
    }
    if (unsupportedReason == null) {
      text.append(more);
    }
  }

  /**
   * The usage of an event.
   *
   * @param alone whether the event has nothing else
   */
  void addUsage(JsonNode usage, boolean alone) {
    hasUsageEvent |= alone;
    generated = usage.path("completion_tokens").asInt(generated);
    JsonNode prompt = usage.path("prompt_tokens");
    if (promptTokens == Outcome.UNKNOWN && prompt.isNumber()) {
      promptTokens = Math.max(0, prompt.intValue() - before);
    }
    if (!resumed) {
      cachedTokens = usage.path("prompt_tokens_details").path("cached_tokens").asInt(cachedTokens);
    }
  }

  /** Writes the usage of all workers over that of one. */
  ObjectNode totalUsage(ObjectNode usage) {
    int prompt = Math.max(0, promptTokens);
    usage.put("prompt_tokens", prompt);
    usage.put("total_tokens", prompt + generated());
    usage.put("completion_tokens", generated());
    if (usage.path("prompt_tokens_details") instanceof ObjectNode details) {
      if (cachedTokens == Outcome.UNKNOWN) {
        details.remove("cached_tokens");
        if (details.isEmpty()) {
          usage.remove("prompt_tokens_details");
        }
      } else {
        details.put("cached_tokens", cachedTokens);
      }
    }
    return usage;
  }
}
