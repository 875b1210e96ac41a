package io.kvasir.gateway.error;

import io.kvasir.http.Headers;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;

/** {@code X-Request-Id}: the client's, where it can be used, or one of ours. */
public final class RequestIds {
  static final String HEADER = "X-Request-Id";

  private static final int MAX_LENGTH = 128;

  private RequestIds() {}

  /**
   * The request's id: 1..128 visible ASCII characters. Ids with an address in them are the router's own to make: some
   * engines connect to it (vLLM's P2P NCCL connector).
   */
  public static String of(Headers headers) {
    String id = headers.first(HEADER);
    return id != null && usable(id) ? id : generate();
  }

  /** A new one. */
  static String generate() {
    ThreadLocalRandom random = ThreadLocalRandom.current();
    HexFormat hex = HexFormat.of();
    return hex.toHexDigits(random.nextLong()) + hex.toHexDigits(random.nextLong());
  }

  private static boolean usable(String id) {
    if (id.isEmpty() || id.length() > MAX_LENGTH || id.contains("_addr_")) {
      return false;
    }
    for (int i = 0; i < id.length(); i++) {
      if (id.charAt(i) <= ' ' || id.charAt(i) > '~') {
        return false;
      }
    }
    return true;
  }
}
