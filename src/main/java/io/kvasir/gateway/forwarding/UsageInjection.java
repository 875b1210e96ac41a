package io.kvasir.gateway.forwarding;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.http.ApiPath;
import java.nio.charset.StandardCharsets;

/**
 * Adds {@code stream_options.include_usage} to a stream's request where the client did not ask for usage, so that the
 * accuracy of the index is known for it. The only change to a client's body before it is sent to a worker.
 */
public final class UsageInjection {
  private static final String OPTIONS = "stream_options";
  private static final String INCLUDE_USAGE = "include_usage";
  private static final byte[] FIELD =
      ",\"stream_options\":{\"include_usage\":true}}".getBytes(StandardCharsets.US_ASCII);

  private UsageInjection() {}

  /** Whether the request is for a stream, and its body in UTF-8 does not ask for usage. */
  public static boolean applies(ApiPath api, ApiRequest request, byte[] bytes) {
    JsonNode body = request.body();
    return (api == ApiPath.CHAT || api == ApiPath.COMPLETIONS)
        && request.stream()
        && body != null
        && !requestsUsage(body.path(OPTIONS))
        && JsonMembers.isUtf8(bytes);
  }

  /** What is no object is left to the engine; so are continuous statistics, which the usage would make visible. */
  private static boolean requestsUsage(JsonNode options) {
    return !(options.isMissingNode() || options.isNull() || options.isObject())
        || options.path(INCLUDE_USAGE).asBoolean(false)
        || options.path("continuous_usage_stats").asBoolean(false);
  }

  /**
   * A body that is to ask for usage, every other byte of it as it was.
   *
   * @param bytes of the request's body, a JSON object with at least one member
   */
  public static byte[] inject(ApiRequest request, byte[] bytes) {
    JsonNode body = request.body();
    if (body == null || !body.has(OPTIONS)) {
      return append(bytes);
    }
    JsonMembers members = JsonMembers.of(bytes);
    JsonMembers options = members.object(OPTIONS);
    String asking = (options == null ? JsonMembers.empty() : options).with(INCLUDE_USAGE, "true").toString();
    return members.with(OPTIONS, asking).bytes();
  }

  private static byte[] append(byte[] body) {
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
