package io.kvasir.gateway;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ApiPath;
import java.nio.charset.StandardCharsets;

/**
 * Asks the engine for a stream's usage where the client did not, so that the truth loop learns of it.
 * The one place where a body is not the client's own bytes.
 */
final class UsageInjection {
  private static final byte[] FIELD =
      ",\"stream_options\":{\"include_usage\":true}}".getBytes(StandardCharsets.US_ASCII);

  private UsageInjection() {}

  /** Whether it can be done: a stream whose client says nothing of {@code stream_options}. */
  static boolean applies(ApiPath api, ApiRequest request) {
    JsonNode body = request.body();
    return (api == ApiPath.CHAT || api == ApiPath.COMPLETIONS)
        && request.stream()
        && body != null
        && !body.has("stream_options");
  }

  /** The body, a JSON object with at least one member, with the field put before its end. */
  static byte[] inject(byte[] body) {
    int end = body.length - 1;
    while (body[end] != '}') {
      end--;
    }
    byte[] out = new byte[end + FIELD.length];
    System.arraycopy(body, 0, out, 0, end);
    System.arraycopy(FIELD, 0, out, end, FIELD.length);
    return out;
  }
}
