package io.kvasir.execution.stream;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.cell.Outcome;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a client has of an answer that several workers may give one after the other, and what all of them have reported
 * of its tokens. It is noted while the events pass, and counts when they have passed whole.
 *
 * <p>Tokens are those the engine reports, or those that were counted at a cut; till then, an event with text counts as
 * one. Where no usage had come from the first worker, its prompt is the second's without what was added to it, and its
 * cached tokens are not known. One thread at a time.
 */
public final class PartialAnswer implements ChoiceListener {
  /** Bytes of text that are kept. */
  static final int MAX_TEXT = 1 << 20;

  private static final int FIRST_TEXT = 1 << 10;

  /** A byte that no text has in JSON. */
  private static final byte END_OF_EVENT = 0;

  private static final ObjectMapper JSON = new ObjectMapper();

  private final TextBudget budget;

  /**
   * The text as JSON writes it: what has passed whole, and behind it what the current event has of it. Behind the text
   * of each event stands {@link #END_OF_EVENT}.
   */
  private byte[] text = {};

  private int noted;
  private int passed;
  /** The parts of the current event, and of those that have passed: a bit each. */
  private int notedParts;

  private int parts;
  private @Nullable String shortage;
  private boolean notedText;
  private boolean hasText;
  private boolean hasUsageEvent;
  private boolean reported;
  private boolean resumed;
  /** Tokens of the answers of the workers before, and of the current one. */
  private int before;
  private int generated;
  private int promptTokens = Outcome.UNKNOWN;
  private int cachedTokens = Outcome.UNKNOWN;

  /** Nothing yet of an answer whose text is kept on this budget. */
  PartialAnswer(TextBudget budget) {
    this.budget = budget;
  }

  /** What the client has of it; empty where that is not kept. */
  public String text() {
    StringBuilder all = new StringBuilder();
    List<String> read = readPieces();
    if (read != null) {
      read.forEach(all::append);
    }
    return all.toString();
  }

  /** The text of each event that had some, in their order; none where that is not kept. */
  public List<String> pieces() {
    List<String> read = readPieces();
    return read == null ? List.of() : read;
  }

  private @Nullable List<String> readPieces() {
    List<String> pieces = new ArrayList<>();
    int from = 0;
    for (int at = 0; at < passed; at++) {
      if (text[at] == END_OF_EVENT) {
        try {
          pieces.add(
              JSON.readValue('"' + new String(text, from, at - from, StandardCharsets.UTF_8) + '"', String.class));
        } catch (IOException e) {
          return null;
        }
        from = at + 1;
      }
    }
    return pieces;
  }

  /** Whether the client has some text. */
  public boolean hasText() {
    return hasText;
  }

  /** Its tokens, as far as they are known. */
  public int generated() {
    return (int) Math.min(Integer.MAX_VALUE, (long) before + generated);
  }

  /** Whether the engine reported the tokens with the last of the text, or with its end. */
  public boolean isReported() {
    return reported;
  }

  /** As many tokens as it may have at most: {@link Integer#MAX_VALUE} where the engine has not reported them. */
  public int mostGenerated() {
    return !hasText ? 0 : reported ? generated() : Integer.MAX_VALUE;
  }

  /** Between two workers: its tokens were counted. */
  public void count(int tokens) {
    before = tokens;
    generated = 0;
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
    return has(Part.END);
  }

  /** Whether the current event has one of these parts, or an event that has passed. */
  boolean begins(Part... some) {
    for (Part part : some) {
      if (((parts | notedParts) & part.bit()) != 0) {
        return true;
      }
    }
    return false;
  }

  /** Whether it has its role, or has begun as a message. */
  boolean hasRole() {
    return has(Part.ROLE);
  }

  /** Whether the event that has usage alone has come. */
  public boolean hasUsageEvent() {
    return hasUsageEvent;
  }

  /** What of it does not allow to continue it, for metrics; null when nothing does. */
  public @Nullable String unsupportedReason() {
    // A message to be continued has no place for thoughts, nor for the half of a call.
    return shortage != null ? shortage
        : has(Part.ANOTHER) ? "several-answers"
        : has(Part.TOOL_CALL) ? "tools"
        : has(Part.REASONING) ? "reasoning"
        : has(Part.OTHER) ? "other"
        : has(Part.TEXT_END) && !finished() ? "ended-text"
        : null;
  }

  private boolean has(Part part) {
    return (parts & part.bit()) != 0;
  }

  @Override
  public void finished(byte[] reason, int length) {}

  @Override
  public void part(Part part) {
    notedParts |= part.bit();
  }

  @Override
  public void text(byte[] bytes, int from, int to) {
    int length = to - from;
    notedText |= length > 0;
    if (shortage != null || !hasRoom(length)) {
      return;
    }
    System.arraycopy(bytes, from, text, noted, length);
    noted += length;
  }

  private boolean hasRoom(int more) {
    int needed = noted + more;
    if (needed > MAX_TEXT) {
      markTooLong();
      return false;
    }
    if (needed > text.length) {
      int grown = Math.max(FIRST_TEXT, Math.max(needed, 2 * text.length));
      if (!budget.tryTake(grown - text.length)) {
        lack("memory");
        return false;
      }
      text = Arrays.copyOf(text, grown);
    }
    return true;
  }

  /** There is more of it than is kept. */
  void markTooLong() {
    lack("too-long");
  }

  private void lack(String what) {
    shortage = what;
    close();
  }

  /** Gives back what the text takes. Idempotent. */
  void close() {
    budget.give(text.length);
    text = new byte[0];
    noted = 0;
    passed = 0;
  }

  /**
   * The current event passes whole.
   *
   * @param tap has read what its worker reports
   */
  void eventPassed(AnswerTap tap) {
    parts |= notedParts;
    if (notedText || (notedParts & Part.END.bit()) != 0) {
      reported = tap.hasUsage() && tap.outputTokens() != Outcome.UNKNOWN;
    }
    if (notedText) {
      endPiece();
    }
    generated = tap.outputTokens() != Outcome.UNKNOWN ? tap.outputTokens()
        : notedText ? generated + 1
        : generated;
    hasText |= notedText;
    notedText = false;
    notedParts = 0;
    passed = noted;
    hasUsageEvent |= tap.usageOnly();
    if (promptTokens == Outcome.UNKNOWN && tap.promptTokens() != Outcome.UNKNOWN) {
      promptTokens = Math.max(0, tap.promptTokens() - before);
    }
    if (!resumed) {
      cachedTokens = tap.cachedTokens();
    }
  }

  private void endPiece() {
    if (shortage == null && hasRoom(1)) {
      text[noted++] = END_OF_EVENT;
    }
  }

  /** The current event is lost, and another worker goes on, from the beginning where there is no text. */
  void nextWorker() {
    notedParts = 0;
    notedText = false;
    noted = passed;
    if (!isReadable()) {
      lack("text");
    }
    if (hasText()) {
      resumed = true;
      before = generated();
    } else {
      promptTokens = Outcome.UNKNOWN;
    }
    generated = 0;
  }

  /** Whether the text is JSON's and has whole characters: no engine can be told half of one. */
  private boolean isReadable() {
    return readPieces() != null && StandardCharsets.UTF_8.newEncoder().canEncode(text());
  }

  /** The prompt's tokens, should no engine have reported them. */
  void estimatePrompt(int tokens) {
    if (promptTokens == Outcome.UNKNOWN) {
      promptTokens = tokens;
    }
  }

  /** Writes the usage of all workers over that of one. */
  ObjectNode totalUsage(ObjectNode usage) {
    int prompt = Math.max(0, promptTokens);
    usage.put("prompt_tokens", prompt);
    usage.put("total_tokens", (long) prompt + generated());
    usage.put("completion_tokens", generated());
    if (usage.path("prompt_tokens_details") instanceof ObjectNode details) {
      // What the last worker had to compute again and cached is no part of what the first one did.
      details.remove("created_cache_tokens");
      if (cachedTokens == Outcome.UNKNOWN) {
        details.remove("cached_tokens");
      } else {
        details.put("cached_tokens", cachedTokens);
      }
      if (details.isEmpty()) {
        usage.remove("prompt_tokens_details");
      }
    }
    return usage;
  }
}
