package io.kvasir.gateway.request;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Who may open WebSockets to engines, and to which model.
 *
 * @param model that of a WebSocket whose request names none; null for the only one, or the first by name
 * @param origins the origins whose pages may open one besides the gateway's own, {@code *} for all: browsers let any
 *     page do so, and send its origin along
 */
public record WebSocketSettings(@Nullable String model, Set<String> origins) {
  /** No model, and no other origins. */
  public static final WebSocketSettings DEFAULTS = new WebSocketSettings(null, Set.of());

  /** Keeps a copy of the origins. */
  public WebSocketSettings {
    origins = Set.copyOf(origins);
  }
}
