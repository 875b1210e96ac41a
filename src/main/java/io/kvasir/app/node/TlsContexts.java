package io.kvasir.app.node;

import io.kvasir.app.config.KvasirConfig;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.http.TlsFiles.Verification;
import io.kvasir.http.server.ListenerTls;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * The TLS contexts of a node, null where it uses plain HTTP or what the JVM trusts.
 *
 * @param listener of the gateway's listener
 * @param gateways for calls to other nodes' gateways: it trusts the gateway's own certificate, and what the
 *     authorities of its chain have issued, for any host, since they name the host that clients use
 * @param management of the management port's listener
 * @param contactPoints for calls to other nodes' management ports, as {@code gateways}
 * @param pods for https pods
 */
record TlsContexts(
    @Nullable ListenerTls listener,
    @Nullable SSLContext gateways,
    @Nullable ListenerTls management,
    @Nullable SSLContext contactPoints,
    @Nullable SSLContext pods) {
  /**
   * Reads the files that a configuration names.
   *
   * @throws StartException when one cannot be used
   */
  static TlsContexts of(KvasirConfig config) throws StartException {
    TlsFiles gateway = config.gateway().tls();
    TlsFiles management = config.operations().management().tls();
    TlsFiles pods = config.execution().tls();
    return new TlsContexts(
        listener(gateway),
        betweenNodes(gateway),
        listener(management),
        betweenNodes(management),
        pods == null ? null : context(pods));
  }

  private static @Nullable ListenerTls listener(@Nullable TlsFiles files) throws StartException {
    return files == null ? null : new ListenerTls(context(files), files.authorities() != null);
  }

  private static @Nullable SSLContext betweenNodes(@Nullable TlsFiles files) throws StartException {
    return files == null
        ? null
        : context(
            new TlsFiles(
                files.certificate(), files.key(), files.certificate(), Verification.AUTHORITY, files.reload()));
  }

  private static SSLContext context(TlsFiles files) throws StartException {
    try {
      return new ReloadingTls(files, NanoClock.SYSTEM).context();
    } catch (IOException unusable) {
      throw new StartException("TLS cannot be used: " + unusable.getMessage(), unusable);
    }
  }
}
