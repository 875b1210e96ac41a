package io.kvasir.app.init;

import java.net.URI;
import java.net.URISyntaxException;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The base URLs of engines, as people write them. */
final class EngineUrl {
  private static final Set<String> PATHS = Set.of("", "/", "/v1", "/v1/");

  private EngineUrl() {}

  /**
   * Reads a URL; the path of OpenAI's API may be there, and is left out.
   *
   * @throws IllegalArgumentException when it is none, with the reason
   */
  static URI parse(String text) {
    URI uri = uri(text);
    if (uri == null || uri.getHost() == null || !isHttp(uri.getScheme())) {
      throw new IllegalArgumentException("'" + text + "' is no URL such as http://10.0.0.5:8000");
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
