package io.kvasir.picker;

import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.http.Headers;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import org.jspecify.annotations.Nullable;

/**
 * A model that a request gets in place of the one that it names. Immutable.
 *
 * @param requested the name that the client has used, as JSON writes it
 * @param served the name that the worker is told, as JSON writes it
 * @param body the request with that name
 */
record RenamedModel(String requested, String served, byte[] body) {
  private static final String[] HEADERS = {"x-llm-d-model-name-rewrite", "x-gateway-model-name-rewrite"};

  /**
   * The model that a pool's request gets by its header, else by the pool's rules; null when it keeps its own.
   *
   * @param random uniform in 0..1, 1 excluded
   */
  static @Nullable RenamedModel of(PoolSet pools, Pool pool, Headers headers, byte[] body, double random) {
    String wanted = ofHeader(headers);
    if (wanted == null && pools.rewrites().isEmpty()) {
      return null;
    }
    JsonMembers members = JsonMembers.tryOf(body);
    String asked = members == null ? null : model(members);
    if (members == null || asked == null) {
      return null;
    }
    String target = wanted != null ? wanted : pools.rewritten(pool.id(), asked, random);
    if (target == null || target.equals(asked)) {
      return null;
    }
    JsonMembers renamed = members.withText("model", target);
    return new RenamedModel(members.value("model").toString(), renamed.value("model").toString(), renamed.bytes());
  }

  /** The model that a request names, null when it names none that can be read. */
  static @Nullable String modelOf(byte[] body) {
    JsonMembers members = JsonMembers.tryOf(body);
    return members == null ? null : model(members);
  }

  private static @Nullable String model(JsonMembers members) {
    return members.value("model").isTextual() ? members.value("model").textValue() : null;
  }

  private static @Nullable String ofHeader(Headers headers) {
    for (String name : HEADERS) {
      String value = headers.first(name);
      if (value != null && !value.isBlank()) {
        return value.strip();
      }
    }
    return null;
  }
}
