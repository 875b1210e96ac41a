package io.kvasir.gateway.request;

import io.kvasir.http.Headers;
import org.jspecify.annotations.Nullable;

/**
 * What a client says by headers about how its request is to be routed, under Kvasir's names and under those of llm-d's
 * picker; Kvasir's go first. It is read where it is used: nothing is read of requests that nobody asks about.
 */
public record RequestHints(Headers headers) {
  /** The header that selects a profile in a request, and names the one that was used in the answer. */
  public static final String PROFILE = "X-Router-Profile";

  /** The header by which clients of llm-d's picker name a profile. */
  private static final String LLMD_PROFILE = "EPP-Profile";

  private static final String PREFERENCES = "Prefer";
  private static final String IF_CACHED = "if-available";

  public static RequestHints of(Headers headers) {
    return new RequestHints(headers);
  }

  /** The profile by name, null where the client names none. */
  @Nullable String profile() {
    String own = headers.first(PROFILE);
    String other = own == null ? headers.first(LLMD_PROFILE) : null;
    return other == null || other.isBlank() ? own : other.strip();
  }

  /** Whether the request is only for a worker that has some of its prompt cached: {@code Prefer: if-available}. */
  public boolean ifCached() {
    return headers.hasToken(PREFERENCES, IF_CACHED);
  }
}
