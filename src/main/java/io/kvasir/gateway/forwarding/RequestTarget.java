package io.kvasir.gateway.forwarding;

import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.gateway.error.GatewayPaths;

/**
 * The normal form of a request's target. What a path means must not depend on who reads it, the router or an engine:
 * targets that engines or proxies before them may resolve to another path are refused, and of those that differ only in
 * form one is forwarded.
 */
final class RequestTarget {
  /** Visible characters that have no place in a path, or that some servers take for a separator. */
  private static final String FORBIDDEN = "\\\"<>^`{|}#;";

  /** Characters that mean something else encoded than plain, or do to those who decode twice. */
  private static final String FORBIDDEN_ENCODED = "/\\.%;?#";

  private RequestTarget() {}

  /**
   * The target with a path that has neither empty segments nor a slash at its end; its query is as it came. The very
   * same text when nothing had to change.
   *
   * @param target path and query as the client sent them
   * @throws ApiException when it has no path, or one with dot segments, separators or control characters, encoded or
   *     not
   */
  static String normalized(String target) throws ApiException {
    int query = target.indexOf('?');
    int end = query < 0 ? target.length() : query;
    for (int i = end; i < target.length(); i++) {
      if (target.charAt(i) <= ' ' || target.charAt(i) > '~') {
        throw refused("its query has a character that is not visible ASCII");
      }
    }
    if (end == 0 || target.charAt(0) != '/') {
      throw refused("its path does not begin with a slash");
    }
    boolean name = target.startsWith(GatewayPaths.MODELS + "/");
    boolean empty = false;
    int segment = 1;
    for (int i = 1; i <= end; i++) {
      if (i == end || target.charAt(i) == '/') {
        empty |= segment == i && end > 1;
        checkSegment(target, segment, i);
        segment = i + 1;
      } else {
        checkCharacter(target, i, end, name);
      }
    }
    return empty ? withoutEmptySegments(target, end) : target;
  }

  private static void checkSegment(String target, int from, int to) throws ApiException {
    boolean dots = to > from && to - from <= 2;
    for (int i = from; i < to && dots; i++) {
      dots = target.charAt(i) == '.';
    }
    if (dots) {
      throw refused("its path has a dot segment");
    }
  }

  /** Checks a character of the path; {@code name} is whether it ends in a model's name, which no engine gets to see. */
  private static void checkCharacter(String target, int at, int end, boolean name) throws ApiException {
    char c = target.charAt(at);
    if (c <= ' ' || c > '~') {
      throw refused("its path has a character that is not visible ASCII");
    }
    if (FORBIDDEN.indexOf(c) >= 0) {
      throw refused("its path has the character " + c);
    }
    if (c == '%' && !name) {
      int decoded = at + 2 < end
          ? Character.digit(target.charAt(at + 1), 16) << 4 | Character.digit(target.charAt(at + 2), 16)
          : -1;
      if (decoded <= ' ' || decoded > '~' || FORBIDDEN_ENCODED.indexOf(decoded) >= 0) {
        throw refused("its path has an encoded character that may mean another path");
      }
    }
  }

  private static String withoutEmptySegments(String target, int end) {
    StringBuilder out = new StringBuilder(target.length());
    for (int i = 0; i < end; i++) {
      if (target.charAt(i) != '/' || (i + 1 < end && target.charAt(i + 1) != '/')) {
        out.append(target.charAt(i));
      }
    }
    return (out.isEmpty() ? out.append('/') : out).append(target, end, target.length()).toString();
  }

  private static ApiException refused(String why) {
    return new ApiException(
        ApiError.of(400, "invalid_path", "The request's target is refused: %s. Send the plain path.".formatted(why)));
  }
}
