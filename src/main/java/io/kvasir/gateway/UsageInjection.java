package io.kvasir.gateway;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.http.ApiPath;
import java.nio.charset.StandardCharsets;

/**
 * Adds {@code stream_options.include_usage} to a stream's request where the client did not ask for usage, so that the
 * accuracy of the index is known for it. The only change to a client's body before it is sent to a worker.
 */
final class UsageInjection {
  private static final byte[] FIELD =
      ",\"stream_options\":{\"include_usage\":true}}".getBytes(StandardCharsets.US_ASCII);

  private UsageInjection() {}

  /** Whether the request is for a stream in UTF-8 and sets no {@code stream_options}. */
  static boolean applies(ApiPath api, ApiRequest request, byte[] bytes) {
    JsonNode body = request.body();
    return (api == ApiPath.CHAT || api == ApiPath.COMPLETIONS)
        && request.stream()
        && body != null
        && !body.has("stream_options")
        && isUtf8(bytes);
  }

  /** JSON in UTF-16 or UTF-32, which parsers accept, begins with a zero byte, has one after it, or has a mark. */
  static boolean isUtf8(byte[] json) {
    return json[0] != 0 && json[1] != 0 && (json[0] & 0xFF) < 0xFE;
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
