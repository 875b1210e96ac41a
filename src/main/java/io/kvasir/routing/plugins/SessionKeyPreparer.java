package io.kvasir.routing.plugins;

import io.kvasir.routing.Parameters;
import io.kvasir.routing.Preparer;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.RoutingContext;
import io.kvasir.routing.Slot;
import io.kvasir.routing.Slots;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The session key of a request: the first of {@code headers} that it has, else the first of {@code fields} of its body
 * (nested ones with dots), cut at {@value #MAX_LENGTH} characters, after the tenant's name: tenants cannot name each
 * other's sessions. Empty when there is none. Where the session's requests went is not known to it.
 */
final class SessionKeyPreparer implements Preparer {
  /** The headers that clients of other routers send. */
  private static final List<String> HEADERS =
      List.of("X-Session-ID", "X-Session-Token", "X-User-ID", "X-Tenant-ID", "X-SMG-Routing-Key");

  private static final List<String> FIELDS = List.of("session_id", "prompt_cache_key", "user");
  private static final int MAX_LENGTH = 256;

  private final List<String> headers;
  private final List<String> fields;

  SessionKeyPreparer(Parameters parameters) {
    this.headers = parameters.texts("headers", HEADERS);
    this.fields = parameters.texts("fields", FIELDS);
  }

  @Override
  public void prepare(RoutingContext context) {
    if (!context.has(Slots.SESSION_KEY)) {
      String key = key(context.facts());
      context.put(Slots.SESSION_KEY, key == null ? "" : scoped(context.facts().tenant(), key));
    }
    if (!context.has(Slots.SESSION_WORKERS)) {
      context.put(Slots.SESSION_WORKERS, "");
    }
  }

  private static String scoped(String tenant, String key) {
    String cut = key.length() <= MAX_LENGTH ? key : key.substring(0, MAX_LENGTH);
    return tenant.isEmpty() ? cut : tenant + "/" + cut;
  }

  private @Nullable String key(RequestFacts facts) {
    for (String header : headers) {
      String value = facts.header(header);
      if (value != null) {
        return value;
      }
    }
    for (String field : fields) {
      String value = facts.field(field);
      if (value != null) {
        return value;
      }
    }
    return null;
  }

  @Override
  public Set<Slot<?>> reads() {
    return Set.of(Slots.FACTS);
  }

  @Override
  public Set<Slot<?>> writes() {
    return Set.of(Slots.SESSION_KEY, Slots.SESSION_WORKERS);
  }
}
