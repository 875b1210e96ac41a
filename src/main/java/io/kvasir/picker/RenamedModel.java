package io.kvasir.picker;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.kvasir.gateway.body.RequestOutline;
import io.kvasir.http.Headers;
import io.kvasir.pools.ModelRewrite;
import io.kvasir.pools.Pool;
import io.kvasir.pools.PoolSet;
import java.util.function.Supplier;
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
   * The model that a pool's request gets by its header, else by the pool's rules, which is counted; null when it keeps
   * its own.
   *
   * @param outline gives that of the body
   * @param random uniform in 0..1, 1 excluded
   */
  static @Nullable RenamedModel of(
      PoolSet pools, Pool pool, Headers headers, byte[] body, Supplier<RequestOutline> outline, double random,
      PickerMetrics metrics) {
    String wanted = ofHeader(headers);
    RequestOutline.NamedModel asked = wanted == null && pools.rewrites().isEmpty() ? null : outline.get().model();
    if (asked == null) {
      return null;
    }
    String target = wanted;
    ModelRewrite.Choice choice = wanted == null ? pools.rewritten(pool.id(), asked.name(), random) : null;
    if (choice != null) {
      metrics.rewritten(choice, asked.name());
      target = choice.model();
    }
    if (target == null || target.equals(asked.name())) {
      return null;
    }
    String served = quoted(target);
    return new RenamedModel(quoted(asked.name()), served, asked.replaced(body, served));
  }

  private static String quoted(String name) {
    return JsonNodeFactory.instance.textNode(name).toString();
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
