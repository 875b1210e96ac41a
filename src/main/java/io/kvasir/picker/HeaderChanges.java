package io.kvasir.picker;

import com.google.protobuf.ByteString;
import io.kvasir.http.Headers;
import io.kvasir.picker.extproc.HeaderAppendAction;
import io.kvasir.picker.extproc.HeaderMutation;
import io.kvasir.picker.extproc.HeaderValue;
import io.kvasir.picker.extproc.HeaderValueOption;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Changes of a head's fields that a proxy is to make. A character that has no place in a header would have it refuse
 * all of them, so such fields are left as they are. Not thread-safe.
 */
final class HeaderChanges {
  private final HeaderMutation.Builder changes = HeaderMutation.newBuilder();

  /** What a head needs to become another, as far as proxies leave that to others. */
  static HeaderChanges between(Headers from, Headers to) {
    HeaderChanges changes = new HeaderChanges();
    Map<String, List<String>> before = fields(from);
    Map<String, List<String>> after = fields(to);
    for (String name : before.keySet()) {
      if (!after.containsKey(name)) {
        changes.remove(name);
      }
    }
    after.forEach((name, values) -> {
      if (!values.equals(before.get(name))) {
        changes.set(name, String.join(", ", values));
      }
    });
    return changes;
  }

  private static Map<String, List<String>> fields(Headers headers) {
    Map<String, List<String>> fields = new LinkedHashMap<>();
    for (int i = 0; i < headers.size(); i++) {
      String name = headers.name(i).toLowerCase(Locale.ROOT);
      if (!isProxys(name)) {
        fields.computeIfAbsent(name, _ -> new ArrayList<>(1)).add(headers.value(i));
      }
    }
    return fields;
  }

  /** Whether a field belongs to a connection or says where a request came from, which is the proxy's to say. */
  private static boolean isProxys(String name) {
    return switch (name) {
      case "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer",
          "transfer-encoding", "upgrade", "content-length", "host", "expect", "forwarded", "x-real-ip", "date",
          "server", "set-cookie" -> true;
      default -> name.startsWith("x-forwarded-") || name.startsWith("x-envoy-");
    };
  }

  /** Sets a field, in place of those of its name. */
  HeaderChanges set(String name, String value) {
    if (isToken(name) && isVisible(value)) {
      changes.addSetHeaders(
          HeaderValueOption.newBuilder()
              .setAppendAction(HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD)
              .setHeader(
                  HeaderValue.newBuilder()
                      .setKey(name)
                      .setRawValue(ByteString.copyFrom(value, StandardCharsets.ISO_8859_1))));
    }
    return this;
  }

  /** Removes every field of a name. */
  HeaderChanges remove(String name) {
    if (isToken(name)) {
      changes.addRemoveHeaders(name);
    }
    return this;
  }

  HeaderMutation build() {
    return changes.build();
  }

  private static boolean isToken(String name) {
    for (int i = name.startsWith(":") ? 1 : 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && "!#$%&'*+-.^_`|~".indexOf(c) < 0) {
        return false;
      }
    }
    return !name.isEmpty();
  }

  private static boolean isVisible(String value) {
    for (int i = 0; i < value.length(); i++) {
      char c = value.charAt(i);
      if ((c < ' ' && c != '\t') || c == 0x7f || c > 0xff) {
        return false;
      }
    }
    return true;
  }
}
