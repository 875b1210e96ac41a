package io.kvasir.execution.dialect;

import java.util.Map;

/**
 * What a leg is sent.
 *
 * @param path where to
 * @param body what
 * @param headers in place of the client's own of that name; {@code X-Request-Id} is the attempt's on every leg
 */
public record EngineRequest(String path, byte[] body, Map<String, String> headers) {
  static EngineRequest of(ClientRequest request, JsonMembers body) {
    return new EngineRequest(request.path(), body.bytes(), Map.of());
  }
}
