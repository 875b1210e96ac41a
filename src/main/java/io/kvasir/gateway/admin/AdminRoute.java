package io.kvasir.gateway.admin;

import io.kvasir.gateway.admin.AdminKeys.Administrator;
import io.kvasir.http.server.Exchange;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;

/**
 * A route of the admin API.
 *
 * @param method {@code GET}, {@code POST} or {@code DELETE}
 * @param path with a name in braces where any text may stand: <code>/admin/workers/{pod}</code>
 * @param parameters of the query, each of which may be left out
 * @param changes whether it changes something, which viewers may not
 * @param action what is done
 */
public record AdminRoute(String method, String path, Set<String> parameters, boolean changes, Action action) {
  /** The handler of a route. Runs on a virtual thread, so it may wait. */
  @FunctionalInterface
  public interface Action {
    /**
     * Handles a request.
     *
     * @throws AdminException when it is refused; its message is the answer
     */
    AdminAnswer answer(AdminRequest request) throws AdminException;
  }

  /** A route that shows something. */
  public static AdminRoute get(String path, Action action) {
    return new AdminRoute("GET", path, Set.of(), false, action);
  }

  /** A route that changes something. */
  public static AdminRoute post(String path, Action action) {
    return new AdminRoute("POST", path, Set.of(), true, action);
  }

  /** A route that removes something. */
  public static AdminRoute delete(String path, Action action) {
    return new AdminRoute("DELETE", path, Set.of(), true, action);
  }

  /** A route that shows what a body asks for, and changes nothing. */
  public static AdminRoute query(String path, Action action) {
    return new AdminRoute("POST", path, Set.of(), false, action);
  }

  /** The same route with these parameters in its query. */
  public AdminRoute with(String... names) {
    return new AdminRoute(method, path, Set.of(names), changes, action);
  }

  /** Whether a path is this route's. */
  boolean matches(String requested) {
    String[] pattern = path.split("/", -1);
    String[] given = requested.split("/", -1);
    boolean matches = pattern.length == given.length;
    for (int i = 0; matches && i < pattern.length; i++) {
      matches = isName(pattern[i]) ? !given[i].isEmpty() : pattern[i].equals(given[i]);
    }
    return matches;
  }

  /**
   * Answers a request whose path {@linkplain #matches is this route's}.
   *
   * @throws AdminException when it is malformed or cannot be done
   */
  AdminAnswer answer(Exchange exchange, Administrator administrator) throws AdminException {
    return action.answer(AdminRequest.of(exchange, administrator, variables(exchange.path()), parameters));
  }

  private Map<String, String> variables(String requested) throws AdminException {
    String[] pattern = path.split("/", -1);
    String[] given = requested.split("/", -1);
    Map<String, String> variables = new HashMap<>();
    for (int i = 0; i < pattern.length; i++) {
      if (isName(pattern[i])) {
        variables.put(pattern[i].substring(1, pattern[i].length() - 1), decoded(given[i]));
      }
    }
    return variables;
  }

  private static boolean isName(String part) {
    return part.startsWith("{");
  }

  private static String decoded(String part) throws AdminException {
    try {
      return URLDecoder.decode(part.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw AdminException.invalid("path", "'" + part + "' in the path is not percent-encoded");
    }
  }
}
