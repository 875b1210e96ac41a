package io.kvasir.execution.dialect;

import java.util.Map;

/**
 * A request to an engine.
 *
 * @param path the path
 * @param body the body
 * @param headers in place of the client's own of that name; {@code X-Request-Id} is the try's where it is
 *     not among them
 */
public record EngineRequest(String path, byte[] body, Map<String, String> headers) {
  static EngineRequest of(ClientRequest request, JsonMembers body) {
    return new EngineRequest(request.path(), body.bytes(), Map.of());
  }
}
