package io.kvasir.app.admin;

import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.http.TlsFiles.Verification;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of admin commands for a router whose management port has TLS. */
final class TlsOptions {
  private static final String AUTHORITY = "KVASIR_MANAGEMENT_CA";
  private static final Duration LONGER_THAN_A_COMMAND = Duration.ofDays(1);

  @Option(
      names = "--ca",
      paramLabel = "FILE",
      description =
          "The authority of the router's certificate (PEM), where the JVM does not know it. Or KVASIR_MANAGEMENT_CA.")
  private @Nullable Path authority;

  @Option(
      names = "--certificate",
      paramLabel = "FILE",
      description = "A client certificate (PEM), where the router needs one.")
  private @Nullable Path certificate;

  @Option(
      names = "--client-key",
      paramLabel = "FILE",
      description = "The private key of the client certificate (PEM, PKCS #8).")
  private @Nullable Path key;

  @Option(
      names = "--insecure",
      description = "Accept every certificate. Whoever answers in the router's place learns the admin key.")
  private boolean insecure;

  /** The TLS of a client, null for what the JVM trusts. */
  @Nullable SSLContext context(Map<String, String> environment) throws AdminFailedException {
    String named = environment.getOrDefault(AUTHORITY, "");
    Path trusted = authority == null && !named.isBlank() ? Path.of(named) : authority;
    if ((certificate == null) != (key == null)) {
      throw new AdminFailedException("--certificate and --client-key belong together: give both");
    }
    if (trusted == null && certificate == null && !insecure) {
      return null;
    }
    Verification verification = insecure ? Verification.NONE : Verification.HOST;
    try {
      return new ReloadingTls(
              new TlsFiles(certificate, key, trusted, verification, LONGER_THAN_A_COMMAND), NanoClock.SYSTEM)
          .context();
    } catch (IOException unusable) {
      throw new AdminFailedException("TLS cannot be used: " + unusable.getMessage(), unusable);
    }
  }
}
