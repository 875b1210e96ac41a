package io.kvasir.sim.core;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.IntNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.TextNode;
import java.util.List;
import java.util.Set;

/**
 * What ends an answer beside its own end and its limit.
 *
 * @param texts the client's stop strings, none of them empty
 * @param tokens the client's stop tokens
 * @param included whether what has stopped an answer is part of its text
 */
public record StopConditions(List<String> texts, Set<Integer> tokens, boolean included) {
  /** Nothing else ends an answer. */
  public static final StopConditions NONE = new StopConditions(List.of(), Set.of(), false);

  /** Copies the collections. */
  public StopConditions {
    texts = List.copyOf(texts);
    tokens = Set.copyOf(tokens);
  }

  private boolean isEmpty() {
    return texts.isEmpty() && tokens.isEmpty();
  }

  /** Characters that are held back while an answer goes on, for they may be the begin of a stop string. */
  int heldBack() {
    return included ? 0 : Math.max(0, texts.stream().mapToInt(String::length).max().orElse(0) - 1);
  }

  /** The watch over one answer. Used by the engine's thread; what it found is read after the answer's end. */
  static final class Watch {
    private static final Watch NONE = new Watch(StopConditions.NONE);

    private final StopConditions conditions;
    private final StringBuilder text = new StringBuilder();
    private JsonNode reason = NullNode.instance;
    private int end = Integer.MAX_VALUE;

    private Watch(StopConditions conditions) {
      this.conditions = conditions;
    }

    static Watch over(StopConditions conditions) {
      return conditions.isEmpty() ? NONE : new Watch(conditions);
    }

    /** Whether there is anything to watch for. */
    boolean isNeeded() {
      return this != NONE;
    }

    /**
     * Whether an answer stops with a token.
     *
     * @param added what the token adds to the text
     * @param count tokens of the answer, this one included
     * @param fewest tokens before which it does not stop
     */
    boolean stops(int token, String added, int count, int fewest) {
      int before = text.length();
      if (count >= fewest && conditions.tokens.contains(token)) {
        reason = IntNode.valueOf(token);
        end = conditions.included ? Integer.MAX_VALUE : before;
        return true;
      }
      text.append(added);
      if (added.isEmpty() || count <= fewest) {
        return false;
      }
      int earliest = Integer.MAX_VALUE;
      for (String stop : conditions.texts) {
        int found = text.indexOf(stop, Math.max(0, before - stop.length() + 1));
        if (found >= 0 && found + stop.length() < earliest) {
          earliest = found + stop.length();
          reason = TextNode.valueOf(stop);
          end = conditions.included ? earliest : found;
        }
      }
      return earliest < Integer.MAX_VALUE;
    }

    /** The stop string or token, as vLLM's {@code stop_reason} has it; null where there was none. */
    JsonNode reason() {
      return reason;
    }

    /** Characters of the answer that are its text. */
    int end() {
      return end;
    }
  }
}
