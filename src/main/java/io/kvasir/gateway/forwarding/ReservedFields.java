package io.kvasir.gateway.forwarding;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.gateway.body.MemberCursor;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.http.Headers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Fields and headers of requests that only the router may set: where an engine finds the KV blocks of a prompt, what
 * its cache keeps, on which rank it runs it, and before whom. A client that could set them would read others' blocks,
 * have the engine connect to any address, hold its memory, or overtake everybody. Immutable.
 */
public final class ReservedFields {
  private final Action action;
  private final Names fields;
  private final Names headers;

  /** What becomes of reserved fields in a client's request. */
  public enum Action {
    /** They are removed; the request goes on without them. */
    REMOVE,
    /** The request is refused with 400. */
    REFUSE,
    /** They pass. */
    ALLOW
  }

  /**
   * Reserved fields by their names.
   *
   * @param fields members of the body, with dots between the names of nested ones; a {@code *} at the end stands for
   *     anything
   * @param headers headers, without regard to case; a {@code *} at the end stands for anything
   */
  public ReservedFields(Action action, List<String> fields, List<String> headers) {
    this.action = action;
    this.fields = Names.of(fields);
    this.headers = Names.of(headers.stream().map(name -> name.toLowerCase(Locale.ROOT)).toList());
  }

  /** No reserved fields. */
  public static ReservedFields none() {
    return new ReservedFields(Action.ALLOW, List.of(), List.of());
  }

  /**
   * Names of an object's members.
   *
   * @param exact whole names
   * @param prefixes beginnings of names
   * @param nested names of members of members, by the member's name
   */
  private record Names(Set<String> exact, List<String> prefixes, Map<String, Names> nested) {
    static Names of(List<String> patterns) {
      Set<String> exact = new HashSet<>();
      List<String> prefixes = new ArrayList<>();
      Map<String, List<String>> below = new HashMap<>();
      for (String pattern : patterns) {
        int dot = pattern.indexOf('.');
        if (dot >= 0) {
          below.computeIfAbsent(pattern.substring(0, dot), _ -> new ArrayList<>()).add(pattern.substring(dot + 1));
        } else if (pattern.endsWith("*")) {
          prefixes.add(pattern.substring(0, pattern.length() - 1));
        } else {
          exact.add(pattern);
        }
      }
      Map<String, Names> nested = new HashMap<>();
      below.forEach((name, inner) -> nested.put(name, of(inner)));
      return new Names(Set.copyOf(exact), List.copyOf(prefixes), Map.copyOf(nested));
    }

    boolean have(String name) {
      if (exact.contains(name)) {
        return true;
      }
      for (int i = 0; i < prefixes.size(); i++) {
        if (name.startsWith(prefixes.get(i))) {
          return true;
        }
      }
      return false;
    }

    /** The first of an object's members that has such a name, null without one. */
    @Nullable String firstIn(JsonNode object) {
      for (Iterator<String> names = object.fieldNames(); names.hasNext(); ) {
        String name = names.next();
        if (have(name)) {
          return name;
        }
        Names inner = nested.get(name);
        JsonNode value = inner == null ? null : object.get(name);
        String found = value == null || inner == null || !value.isObject() ? null : inner.firstIn(value);
        if (found != null) {
          return name + "." + found;
        }
      }
      return null;
    }

    /** The same of members that no tree has been made of. */
    @Nullable String firstIn(MemberCursor members) {
      while (members.next()) {
        for (String name : exact) {
          if (members.isNamed(name)) {
            return name;
          }
        }
        for (String prefix : prefixes) {
          if (members.isNamedFrom(prefix)) {
            return prefix + "*";
          }
        }
        for (Map.Entry<String, Names> inner : nested.entrySet()) {
          String found = members.isNamed(inner.getKey()) ? inner.getValue().firstIn(members.nested()) : null;
          if (found != null) {
            return inner.getKey() + "." + found;
          }
        }
      }
      return null;
    }

    JsonMembers removeFrom(JsonMembers object) {
      JsonMembers kept = object.without(this::have);
      for (Map.Entry<String, Names> inner : nested.entrySet()) {
        JsonMembers value = kept.object(inner.getKey());
        JsonMembers changed = value == null ? null : inner.getValue().removeFrom(value);
        if (changed != null && changed != value) {
          kept = kept.with(inner.getKey(), changed.toString());
        }
      }
      return kept;
    }
  }

  /**
   * The body without reserved fields: the client's own bytes where it has none. The tree is that of the same bytes, so
   * that nothing is parsed again where nothing has to be removed.
   *
   * @param tree null when the body is no JSON object
   * @throws ApiException when such fields are refused, or stand in JSON that is not UTF-8
   */
  public byte[] removeFrom(@Nullable JsonNode tree, byte[] body) throws ApiException {
    if (tree == null || action == Action.ALLOW) {
      return body;
    }
    String found = fields.firstIn(tree);
    if (found == null) {
      return body;
    }
    if (action == Action.REFUSE) {
      throw refused("Field", found);
    }
    JsonMembers members = JsonMembers.tryOf(body);
    if (members == null) {
      throw refused("Field", found);
    }
    return fields.removeFrom(members).bytes();
  }

  /**
   * Checks a body that cannot be read here, from which nothing can be removed. An engine may read more than the router:
   * members are seen in whatever resembles an object.
   *
   * @throws ApiException when it has such fields, and they do not pass
   */
  public void checkUnread(byte[] body) throws ApiException {
    String found = action == Action.ALLOW ? null : fields.firstIn(MemberCursor.ofAnyEncoding(body));
    if (found != null) {
      throw refused("Field", found);
    }
  }

  /**
   * Checks a request's headers.
   *
   * @throws ApiException when reserved ones are refused, and it has one
   */
  public void check(Headers request) throws ApiException {
    if (action == Action.REFUSE) {
      for (int i = 0; i < request.size(); i++) {
        if (headers.have(request.name(i).toLowerCase(Locale.ROOT))) {
          throw refused("Header", request.name(i));
        }
      }
    }
  }

  /** Whether a header, in lower case, does not pass. */
  boolean removes(String header) {
    return action != Action.ALLOW && headers.have(header);
  }

  private static ApiException refused(String kind, String name) {
    return new ApiException(
        ApiError.badField(
            name,
            "reserved_field",
            "%s '%s' is set by the router alone. Send the request without it.".formatted(kind, name)));
  }
}
