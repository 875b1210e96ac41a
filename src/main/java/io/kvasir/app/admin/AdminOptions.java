package io.kvasir.app.admin;

import io.kvasir.gateway.admin.AdminKeys;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The options of all admin commands: the router's address, its TLS, the API key and the output format. */
public final class AdminOptions {
  private static final String KEY = "KVASIR_ADMIN_KEY";
  private static final String KEY_FILE = "KVASIR_ADMIN_KEY_FILE";
  private static final Set<String> SCHEMES = Set.of("http", "https");
  private static final String DIGEST = "sha256:";

  @Option(
      names = "--management",
      paramLabel = "URL",
      defaultValue = "${env:KVASIR_MANAGEMENT_URL:-http://127.0.0.1:7626}",
      description = "Where a node's management listens (${DEFAULT-VALUE}). Or KVASIR_MANAGEMENT_URL.")
  private String management = "";

  @Option(
      names = "--key-file",
      paramLabel = "FILE",
      description = "A file with the admin key, where the router needs one. Or KVASIR_ADMIN_KEY, the key itself.")
  private @Nullable Path keyFile;

  @Mixin private TlsOptions tls = new TlsOptions();

  @Option(names = "--json", description = "Print JSON, the router's answer as it is where it is one.")
  private boolean json;

  /** Whether the router's answer is wanted as it is. */
  public boolean json() {
    return json;
  }

  /**
   * A client of the router that the options name.
   *
   * @throws AdminFailedException when an option has no meaning, or a file cannot be read
   */
  public AdminClient client() throws AdminFailedException {
    return new AdminClient(address(management), key(System.getenv()), tls.context(System.getenv()));
  }

  private static URI address(String url) throws AdminFailedException {
    try {
      URI uri = URI.create(url);
      if (uri.getHost() != null && SCHEMES.contains(String.valueOf(uri.getScheme()).toLowerCase(Locale.ROOT))) {
        return uri;
      }
    } catch (IllegalArgumentException malformed) {
      // Reported below, like every other address that is none.
    }
    throw new AdminFailedException(
        "--management has to be an address such as http://10.0.0.5:7626, not " + url);
  }

  private @Nullable String key(Map<String, String> environment) throws AdminFailedException {
    String key = environment.getOrDefault(KEY, "");
    String named = environment.getOrDefault(KEY_FILE, "");
    Path file = keyFile != null ? keyFile : key.isBlank() && !named.isBlank() ? Path.of(named) : null;
    if (file == null) {
      return key.isBlank() ? null : keyOf(key.strip());
    }
    try {
      return AdminKeys.readFile(file).stream()
          .map(AdminOptions::keyOf)
          .filter(each -> !each.startsWith(DIGEST))
          .findFirst()
          .orElseThrow(
              () -> new AdminFailedException(
                  "there is no key in " + file + "; it has to stand on a line of its own, and a digest is none"));
    } catch (IOException unreadable) {
      throw new AdminFailedException(
          "the key's file " + file + " cannot be read; does it exist, and may you read it?", unreadable);
    }
  }

  /** The key of a line that may also name its holder and role, as a router's file has them. */
  private static String keyOf(String line) {
    return line.split("\\s", 2)[0];
  }
}
