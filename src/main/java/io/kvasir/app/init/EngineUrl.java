package io.kvasir.app.init;

import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.TransferDescription.Role;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The addresses of engines, as people write them: a base URL, behind it {@code ,grpc-port=50051} where it has one, and
 * {@code ,role=prefill} or {@code ,role=decode} where it is for that alone.
 */
final class EngineUrl {
  private static final String EXAMPLES =
      "http://10.0.0.5:8000, or http://10.0.0.5:8000," + EngineAddress.GRPC_PORT + "=50051, or http://10.0.0.5:8000,"
          + EngineAddress.ROLE + "=prefill";
  private static final Set<String> PATHS = Set.of("", "/", "/v1", "/v1/");

  private EngineUrl() {}

  /**
   * Reads an address; the path of OpenAI's API may be there, and is left out.
   *
   * @throws IllegalArgumentException when it is none, with the reason
   */
  static EngineAddress parse(String text) {
    String[] parts = text.split(",", -1);
    Integer grpcPort = null;
    Role role = null;
    for (String part : List.of(parts).subList(1, parts.length)) {
      String[] setting = part.split("=", 2);
      if (setting.length == 2 && setting[0].equals(EngineAddress.GRPC_PORT) && grpcPort == null) {
        grpcPort = port(text, setting[1]);
      } else if (setting.length == 2 && setting[0].equals(EngineAddress.ROLE) && role == null) {
        role = role(text, setting[1]);
      } else {
        throw noUrl(text);
      }
    }
    return new EngineAddress(url(text, parts[0]), grpcPort, role);
  }

  private static int port(String text, String value) {
    int port = value.matches("\\d{1,5}") ? Integer.parseInt(value) : 0;
    if (port < 1 || port > EngineAddress.MAX_PORT) {
      throw new IllegalArgumentException("'" + text + "' has the " + EngineAddress.GRPC_PORT + " " + value
          + ", and ports are 1 to " + EngineAddress.MAX_PORT);
    }
    return port;
  }

  private static Role role(String text, String value) {
    Role role = Role.of(value);
    if (role == null) {
      throw new IllegalArgumentException("'" + text + "' has the " + EngineAddress.ROLE + " '" + value
          + "', and that is prefill or decode; leave it out for an engine that does both");
    }
    return role;
  }

  private static IllegalArgumentException noUrl(String text) {
    return new IllegalArgumentException("'" + text + "' is no URL such as " + EXAMPLES);
  }

  private static URI url(String text, String base) {
    URI uri = uri(base);
    if (uri == null || uri.getHost() == null || !isHttp(uri.getScheme())) {
      throw noUrl(text);
    }
    if (uri.getUserInfo() != null || uri.getQuery() != null || uri.getFragment() != null) {
      throw new IllegalArgumentException("'" + text + "' has more than scheme, host and port; leave the rest out");
    }
    if (!PATHS.contains(uri.getPath())) {
      throw new IllegalArgumentException(
          "'" + text + "' has the path " + uri.getPath() + ", and engines are reached at their root; is that a proxy"
              + " before them? Give the engines themselves");
    }
    return URI.create(uri.getScheme() + "://" + uri.getRawAuthority());
  }

  private static boolean isHttp(@Nullable String scheme) {
    return scheme != null && (scheme.equals("http") || scheme.equals("https"));
  }

  private static @Nullable URI uri(String text) {
    try {
      return new URI(text);
    } catch (URISyntaxException malformed) {
      return null;
    }
  }
}
