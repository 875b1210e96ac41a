package io.kvasir.app.init;

import io.kvasir.engines.EngineAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The addresses of engines, as people write them: a base URL, behind it {@code ,grpc-port=50051} where it has one. */
final class EngineUrl {
  private static final Pattern GRPC_PORT =
      Pattern.compile("(?<url>[^,]*)," + EngineAddress.GRPC_PORT + "=(?<port>\\d{1,5})");
  private static final Set<String> PATHS = Set.of("", "/", "/v1", "/v1/");

  private EngineUrl() {}

  /**
   * Reads an address; the path of OpenAI's API may be there, and is left out.
   *
   * @throws IllegalArgumentException when it is none, with the reason
   */
  static EngineAddress parse(String text) {
    Matcher both = GRPC_PORT.matcher(text);
    if (!both.matches()) {
      return EngineAddress.of(url(text));
    }
    int port = Integer.parseInt(both.group("port"));
    if (port < 1 || port > EngineAddress.MAX_PORT) {
      throw new IllegalArgumentException("'" + text + "' has the " + EngineAddress.GRPC_PORT + " " + port
          + ", and ports are 1 to " + EngineAddress.MAX_PORT);
    }
    return new EngineAddress(url(both.group("url")), port);
  }

  private static URI url(String text) {
    URI uri = uri(text);
    if (uri == null || uri.getHost() == null || !isHttp(uri.getScheme())) {
      throw new IllegalArgumentException("'" + text + "' is no URL such as http://10.0.0.5:8000, or http://10.0.0.5:8000,"
              + EngineAddress.GRPC_PORT + "=50051");
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
