package io.kvasir.execution;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Outcome;
import org.jspecify.annotations.Nullable;

/**
 * What a client has of an answer that several workers may give one after the other, and what all of them have told of
 * its tokens.
 *
 * <p>Tokens are those the engine tells of; while it does not, an event with text counts as one. Where no usage had come
 * from the first worker, its prompt is the second's without what was added to it, and its cached tokens are not told.
 * One thread at a time.
 */
final class AnswerSoFar {
  /** Characters that are kept. */
  private static final int MOST = StitchedStream.MOST;

  private final boolean chat;
  private final StringBuilder text = new StringBuilder();
  private boolean roleTold;
  private boolean finished;
  private boolean usageTold;
  private boolean later;
  private @Nullable String unfit;
  /** Tokens of the answers of the workers before, and of the one that speaks. */
  private int before;
  private int generated;
  private int promptTokens = Outcome.UNKNOWN;
  private int cachedTokens = Outcome.UNKNOWN;

  /** Nothing yet of an answer by the chat API, or by the completions API. */
  AnswerSoFar(boolean chat) {
    this.chat = chat;
  }

  /** What the client has of it. */
  String text() {
    return text.toString();
  }

  /** Its tokens, as far as they are known. */
  int generated() {
    return before + generated;
  }

  /** Tokens of the client's prompt, {@link Outcome#UNKNOWN} while nobody has told. */
  int promptTokens() {
    return promptTokens;
  }

  /** Those the first worker found in its cache, {@link Outcome#UNKNOWN} when it did not tell. */
  int cachedTokens() {
    return cachedTokens;
  }

  /** Whether it has told why it ended: there is no more text. */
  boolean finished() {
    return finished;
  }

  /** Whether it has told who speaks. */
  boolean roleTold() {
    return roleTold;
  }

  /** Whether the event that tells usage alone has come. */
  boolean usageTold() {
    return usageTold;
  }

  /** What of it does not allow to continue it, for metrics; null when nothing does. */
  @Nullable String unfit() {
    return unfit;
  }

  /** There is more of it than is kept. */
  void tooLong() {
    unfit = "too-long";
  }

  /** Another worker goes on. */
  void nextWorker() {
    later = true;
    before += generated;
    generated = 0;
  }

  /** The prompt's tokens, should no engine have told of them. */
  void estimatePrompt(int tokens) {
    if (promptTokens == Outcome.UNKNOWN) {
      promptTokens = tokens;
    }
  }

  /** A choice of an event. */
  void choice(JsonNode choice) {
    JsonNode said = chat ? choice.path("delta") : choice;
    roleTold |= said.has("role");
    finished |= choice.hasNonNull("finish_reason");
    if (choice.path("index").asInt(0) > 0) {
      unfit = "several-answers";
    }
    if (!said.path("tool_calls").isEmpty() || said.hasNonNull("function_call")) {
      unfit = "tools";
    }
    if (!said.path("reasoning_content").asText("").isEmpty() || !said.path("reasoning").asText("").isEmpty()) {
      // A message to be continued has no place for thoughts.
      unfit = "reasoning";
    }
    String more = said.path(chat ? "content" : "text").asText("");
    if (more.isEmpty()) {
      return;
    }
    generated++;
    if (text.length() + more.length() > MOST) {
      tooLong();
      text.setLength(0);
    }
    if (unfit == null) {
      text.append(more);
    }
  }

  /**
   * The usage of an event.
   *
   * @param alone whether the event tells nothing else
   */
  void usage(JsonNode usage, boolean alone) {
    usageTold |= alone;
    generated = usage.path("completion_tokens").asInt(generated);
    JsonNode prompt = usage.path("prompt_tokens");
    if (promptTokens == Outcome.UNKNOWN && prompt.isNumber()) {
      promptTokens = Math.max(0, prompt.intValue() - before);
    }
    if (!later) {
      cachedTokens = usage.path("prompt_tokens_details").path("cached_tokens").asInt(cachedTokens);
    }
  }

  /** Writes the usage of all workers over that of one. */
  ObjectNode total(ObjectNode usage) {
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
