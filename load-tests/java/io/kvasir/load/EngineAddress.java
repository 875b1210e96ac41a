package io.kvasir.load;

import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * An engine's address, as {@code load-tests/truth} is given it: its URL, and what cannot be learnt from there.
 *
 * @param url such as {@code http://h1:8000}
 * @param events endpoint of its ZMQ events; null where it has none
 * @param replay endpoint of their replay; null where it has none
 * @param named whether the address named either; else they are the usual ones, and what the engine tells counts
 * @param role {@code both}, {@code prefill} or {@code decode}
 * @param transfer how it hands KV blocks over; null for not at all
 */
record EngineAddress(
    URI url, @Nullable String events, @Nullable String replay, boolean named, String role,
    @Nullable Transfer transfer) {
  private static final Set<String> FIELDS =
      Set.of("events", "replay", "role", "transfer", "bootstrap-port", "engine-id");

  /**
   * How KV blocks are handed over.
   *
   * @param dialect such as {@code vllm-nixl}
   * @param port of the bootstrap server; 0 for the dialect's own
   * @param engineId where the dialect needs it; else empty
   */
  record Transfer(String dialect, int port, String engineId) {}

  /**
   * Reads {@code URL[,events=PORT|ENDPOINT|none][,replay=…][,role=…][,transfer=DIALECT][,bootstrap-port=N]
   * [,engine-id=…]}; events are at port 5557 and replay at 5657 of the URL's host if neither this nor the engine says
   * otherwise.
   *
   * @throws IllegalArgumentException when it makes no sense; the message says why
   */
  static EngineAddress parse(String text) {
    String[] parts = text.split(",", -1);
    URI url = URI.create(parts[0]);
    if (url.getScheme() == null || !url.getScheme().startsWith("http") || url.getHost() == null) {
      throw new IllegalArgumentException("'" + parts[0] + "' is no engine's address such as http://h1:8000");
    }
    Map<String, String> fields = new LinkedHashMap<>();
    for (int i = 1; i < parts.length; i++) {
      String[] field = parts[i].split("=", 2);
      if (field.length < 2 || !FIELDS.contains(field[0])) {
        throw new IllegalArgumentException("'" + parts[i] + "' of " + url + ": fields are NAME=VALUE; there are "
            + String.join(", ", FIELDS.stream().sorted().toList()));
      }
      fields.put(field[0], field[1]);
    }
    String dialect = fields.get("transfer");
    return new EngineAddress(
        url,
        endpoint(url, fields.getOrDefault("events", "5557")),
        endpoint(url, fields.getOrDefault("replay", "5657")),
        fields.containsKey("events") || fields.containsKey("replay"),
        fields.getOrDefault("role", "both"),
        dialect == null
            ? null
            : new Transfer(
                dialect,
                Integer.parseInt(fields.getOrDefault("bootstrap-port", "0")),
                fields.getOrDefault("engine-id", "")));
  }

  private static @Nullable String endpoint(URI url, String value) {
    if (value.equals("none")) {
      return null;
    }
    return value.matches("\\d+") ? "tcp://" + url.getHost() + ":" + value : value;
  }

  /** A name for pods and tables: host and port. */
  String name() {
    return url.getAuthority().replaceAll("[^A-Za-z0-9._:-]", "");
  }
}
