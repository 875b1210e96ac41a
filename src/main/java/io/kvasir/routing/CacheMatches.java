package io.kvasir.routing;

import io.kvasir.index.Tier;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Where a {@link CacheLayer} holds the beginning of a prompt. It crosses to the request's cell as text, a line for each
 * match: {@code vllm-0=768@host}. Immutable.
 *
 * @param matches at most one for each worker and one for {@link #ANY_WORKER}
 */
public record CacheMatches(List<Match> matches) {
  /** The text of an answer that did not come. */
  public static final String UNKNOWN = "";

  /** Stands for every worker: what is held where all of them can load it from. */
  public static final String ANY_WORKER = "*";

  private static final String NONE = "none";

  /**
   * One worker's.
   *
   * @param worker its id, or {@link #ANY_WORKER}
   * @param tokens leading tokens of the prompt that it can load
   * @param tier where from
   */
  public record Match(String worker, int tokens, Tier tier) {
    private String text() {
      return worker + "=" + tokens + "@" + tier.name().toLowerCase(Locale.ROOT);
    }
  }

  /** Copies what it is given. */
  public CacheMatches {
    matches = List.copyOf(matches);
  }

  /** As it crosses. */
  public String text() {
    return matches.isEmpty() ? NONE : String.join("\n", matches.stream().map(Match::text).toList());
  }

  /** From what crossed; lines that a node of another version has written otherwise are left out. */
  public static CacheMatches of(String text) {
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
    } catch (IllegalArgumentException otherwise) {
      return null;
    }
  }
}
