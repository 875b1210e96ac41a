package io.kvasir.answers;

import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * What a request's {@code Cache-Control} asks for (RFC 9111 §5.2.1).
 *
 * @param noStore neither an answer from the cache, nor its own kept
 * @param noCache no answer from the cache
 * @param maxAgeSeconds no older one
 */
record CacheControl(boolean noStore, boolean noCache, long maxAgeSeconds) {
  private static final CacheControl NOTHING = new CacheControl(false, false, Long.MAX_VALUE);
  private static final String MAX_AGE = "max-age=";

  static CacheControl of(@Nullable String value) {
    if (value == null) {
      return NOTHING;
    }
    boolean noStore = false;
    boolean noCache = false;
    long maxAge = Long.MAX_VALUE;
    for (String part : value.toLowerCase(Locale.ROOT).split(",", -1)) {
      String directive = part.strip();
      noStore |= directive.equals("no-store");
      noCache |= directive.equals("no-cache");
      if (directive.startsWith(MAX_AGE)) {
        String seconds = directive.substring(MAX_AGE.length());
        if (seconds.matches("\\d{1,18}")) {
          maxAge = Long.parseLong(seconds);
        }
      }
    }
    return new CacheControl(noStore, noCache || maxAge == 0, maxAge);
  }
}
