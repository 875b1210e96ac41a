package io.kvasir.routing;

import io.kvasir.index.Tier;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * The prefixes of a prompt that a {@link CacheLayer} holds. Its text form has a line for each match: {@code
 * vllm-0=768@host}. Immutable.
 *
 * @param known whether the cache layer has answered; without an answer there are no matches
 * @param matches at most one for each worker and one for {@link #ANY_WORKER}
 */
public record CacheMatches(boolean known, List<Match> matches) {
  /** The matches when the cache layer has not answered. */
  public static final CacheMatches UNKNOWN = new CacheMatches(false, List.of());
  /** The worker id of a match in storage that all workers can load from. */
  public static final String ANY_WORKER = "*";
  private static final String NONE = "none";

  /**
   * The prefix that one worker can load.
   *
   * @param worker its id, or {@link #ANY_WORKER}
   * @param tokens leading tokens of the prompt, 0 or more
   * @param tier the tier that holds them
   */
  public record Match(String worker, int tokens, Tier tier) {
    private String text() {
      return worker + "=" + tokens + "@" + tier.name().toLowerCase(Locale.ROOT);
    }
  }

  /** Copies the list. */
  public CacheMatches {
    matches = List.copyOf(matches);
  }

  /** The cache layer's answer. */
  public CacheMatches(List<Match> matches) {
    this(true, matches);
  }

  /** The text form, which {@link #decode} reads. */
  public String encode() {
    return !known ? "" : matches.isEmpty() ? NONE : String.join("\n", matches.stream().map(Match::text).toList());
  }

  /** Matches from their text form; lines in the format of another version are skipped. */
  public static CacheMatches decode(String text) {
    if (text.isEmpty()) {
      return UNKNOWN;
    }
    List<Match> matches = new ArrayList<>();
    for (int from = 0; from < text.length(); ) {
      int end = text.indexOf('\n', from);
      int to = end < 0 ? text.length() : end;
      Match match = match(text.substring(from, to));
      if (match != null) {
        matches.add(match);
      }
      from = to + 1;
    }
    return new CacheMatches(matches);
  }

  private static @Nullable Match match(String line) {
    int equals = line.lastIndexOf('=');
    int at = line.lastIndexOf('@');
    if (equals <= 0 || at < equals) {
      return null;
    }
    try {
      int tokens = Integer.parseInt(line, equals + 1, at, 10);
      return new Match(
          line.substring(0, equals), tokens, Tier.valueOf(line.substring(at + 1).toUpperCase(Locale.ROOT)));
    } catch (IllegalArgumentException ofAnotherVersion) {
      return null;
    }
  }
}
