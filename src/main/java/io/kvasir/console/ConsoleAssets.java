package io.kvasir.console;

import io.kvasir.http.Headers;
import io.kvasir.http.server.ArrivedRequest;
import io.kvasir.http.server.Exchange;
import io.kvasir.http.server.HttpHandler;
import io.kvasir.http.server.RequestFailure;
import io.kvasir.http.server.Response;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The console's files under {@code /console/}, for GET and HEAD. Browsers keep them and ask each time whether they are
 * still the same ({@code ETag}), so that a new version of the router shows its own pages at once. Thread-safe.
 */
public final class ConsoleAssets implements HttpHandler {
  /** Where the console is. */
  public static final String PATH = "/console/";

  /** Only the console's own files run, style or are asked for; only they may frame or be sent to. */
  static final String CONTENT_SECURITY_POLICY =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
          + " base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

  private static final String INDEX = "index.html";
  private static final Map<String, String> TYPES =
      Map.of(
          "html", "text/html; charset=utf-8",
          "js", "text/javascript; charset=utf-8",
          "css", "text/css; charset=utf-8",
          "txt", "text/plain; charset=utf-8");

  /** Names within the folder of the files: none that leads out of it, none of a class. */
  private static final Pattern NAME = Pattern.compile("(?:[a-z]+/)?[A-Za-z][A-Za-z-]*\\.(html|js|css|txt)");

  private final Map<String, Asset> assets = new ConcurrentHashMap<>();

  @Override
  public Response handle(Exchange exchange) {
    String method = exchange.method();
    if (!method.equals("GET") && !method.equals("HEAD")) {
      Response.Buffered refused = refused(405, "the console takes GET and HEAD, not " + method);
      return refused.with(refused.headers().toBuilder().add("Allow", "GET, HEAD").build());
    }
    String path = exchange.path();
    if (PATH.equals(path + "/")) {
      // Relative: a proxy may have the router under a prefix.
      return new Response.Buffered(308, Headers.of("Location", "console/"), new byte[0]);
    }
    Asset asset = path.startsWith(PATH) ? asset(path.substring(PATH.length())) : null;
    if (asset == null) {
      return refused(404, "the console has no file of that name; it begins at " + PATH);
    }
    String known = exchange.headers().first("If-None-Match");
    return known != null && known.contains(asset.etag()) ? asset.unchanged() : asset.whole();
  }

  @Override
  public Response.Buffered failure(ArrivedRequest request, RequestFailure why) {
    return refused(why.status(), why.message());
  }

  private static Response.Buffered refused(int status, String message) {
    return new Response.Buffered(
        status,
        guarded("text/plain; charset=utf-8").build(),
        message.concat("\n").getBytes(StandardCharsets.UTF_8));
  }

  /** Found files are kept: they are few, and other names are not. */
  private @Nullable Asset asset(String path) {
    String name = path.isEmpty() ? INDEX : path;
    Asset kept = assets.get(name);
    if (kept != null || !NAME.matcher(name).matches()) {
      return kept;
    }
    Asset read = read(name);
    if (read != null) {
      assets.put(name, read);
    }
    return read;
  }

  private static @Nullable Asset read(String name) {
    try (InputStream file = ConsoleAssets.class.getResourceAsStream(name)) {
      if (file == null) {
        return null;
      }
      byte[] bytes = file.readAllBytes();
      return new Asset(bytes, TYPES.getOrDefault(name.substring(name.lastIndexOf('.') + 1), ""), etag(bytes));
    } catch (IOException unreadable) {
      throw new UncheckedIOException("the console's file " + name + " cannot be read", unreadable);
    }
  }

  private static String etag(byte[] bytes) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
      return '"' + HexFormat.of().formatHex(digest, 0, 16) + '"';
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException("every Java has SHA-256", impossible);
    }
  }

  private static Headers.Builder guarded(String type) {
    return Headers.builder()
        .add("Content-Type", type)
        .add("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        .add("X-Content-Type-Options", "nosniff")
        .add("Referrer-Policy", "no-referrer")
        .add("Cache-Control", "no-cache");
  }

  /** A file, read once. */
  private record Asset(byte[] bytes, String type, String etag) {
    Response whole() {
      return new Response.Buffered(200, headers(), bytes);
    }

    Response unchanged() {
      return new Response.Buffered(304, headers(), new byte[0]);
    }

    private Headers headers() {
      return guarded(type).add("ETag", etag).build();
    }
  }
}
