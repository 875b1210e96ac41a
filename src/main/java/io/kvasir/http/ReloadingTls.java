package io.kvasir.http;

import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import java.util.stream.Stream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A TLS context over PEM files that may be replaced while it is in use. A handshake checks them for changes when the
 * last check was longer ago than {@link TlsFiles#reload}; files that cannot be read leave the previous ones in service.
 * Connections that exist go on. Thread-safe.
 */
public final class ReloadingTls {
  private static final Logger LOG = LoggerFactory.getLogger(ReloadingTls.class);

  private final TlsFiles files;
  private final NanoClock clock;
  private final SSLContext context;
  private final ReentrantLock reloading = new ReentrantLock();
  private volatile Material material;
  private volatile long checkedNanos;

  /**
   * The contents of the files.
   *
   * @param version counts reloads; names the key, so that a handshake gets the chain and the key of one version
   * @param stamps how the files looked when they were read
   * @param keys this side's certificate, null for none
   * @param trust decides about the other side's certificate
   * @param previous the keys of the version before, for handshakes that have begun
   */
  private record Material(
      int version,
      List<String> stamps,
      @Nullable X509ExtendedKeyManager keys,
      X509ExtendedTrustManager trust,
      @Nullable X509ExtendedKeyManager previous) {
    String alias() {
      return "v" + version;
    }
  }

  /**
   * Reads the files.
   *
   * @throws IOException when one cannot be used; names it
   */
  public ReloadingTls(TlsFiles files, NanoClock clock) throws IOException {
    this.files = files;
    this.clock = clock;
    this.checkedNanos = clock.nanos();
    this.material = read(0, null);
    try {
      this.context = SSLContext.getInstance("TLS");
      context.init(
          files.certificate() == null ? new KeyManager[0] : new KeyManager[] {new Keys()},
          new TrustManager[] {new Trust()},
          null);
      // Resumed sessions do not look at certificates: they are not to outlive a change for long.
      int seconds = Math.clamp(files.reload().toSeconds(), 1, 86_400);
      context.getServerSessionContext().setSessionTimeout(seconds);
      context.getClientSessionContext().setSessionTimeout(seconds);
    } catch (GeneralSecurityException impossible) {
      throw new IOException("the JVM has no TLS", impossible);
    }
  }

  /** The context for new connections, the same one after reloads. */
  public SSLContext context() {
    return context;
  }

  /** Whether a listener with these files accepts their certificate from a client. */
  public boolean acceptsItself() {
    Material now = material;
    if (files.authorities() == null || now.keys == null) {
      return true;
    }
    X509Certificate[] chain = Objects.requireNonNull(now.keys.getCertificateChain(now.alias()));
    try {
      now.trust.checkClientTrusted(chain, chain[0].getPublicKey().getAlgorithm());
      return true;
    } catch (CertificateException refused) {
      return false;
    }
  }

  private Material current() {
    if (clock.nanos() - checkedNanos >= files.reload().toNanos() && reloading.tryLock()) {
      try {
        checkedNanos = clock.nanos();
        if (!stamps().equals(material.stamps)) {
          material = read(material.version + 1, material.keys);
          LOG.info("the TLS files {} were read again", paths().toList());
        }
      } catch (IOException unusable) {
        LOG.warn("changed TLS files are not used, the previous ones stay in service: {}", unusable.getMessage());
      } finally {
        reloading.unlock();
      }
    }
    return material;
  }

  private Material read(int version, @Nullable X509ExtendedKeyManager previous) throws IOException {
    List<String> stamps = stamps();
    Path certificate = files.certificate();
    Path key = files.key();
    try {
      X509ExtendedKeyManager keys =
          certificate == null || key == null ? null : keys("v" + version, certificate, key);
      return new Material(version, stamps, keys, trust(), previous);
    } catch (GeneralSecurityException unusable) {
      throw new IOException(
          "the certificate and key of " + paths().toList() + " cannot be used: " + unusable.getMessage(), unusable);
    }
  }

  private static X509ExtendedKeyManager keys(String alias, Path certificate, Path key)
      throws IOException, GeneralSecurityException {
    List<X509Certificate> chain = named(certificate, PemFiles::certificates);
    PrivateKey secret = named(key, PemFiles::privateKey);
    if (!PemFiles.match(secret, chain.getFirst())) {
      throw new IOException(key + " is not the key of " + certificate);
    }
    return MemoryKeys.manager(alias, secret, chain.toArray(X509Certificate[]::new));
  }

  private X509ExtendedTrustManager trust() throws IOException, GeneralSecurityException {
    return switch (files.verification()) {
      case HOST -> authorities();
      case AUTHORITY -> new AnyHostTrust(authorities());
      case NONE -> new AnyCertificateTrust();
    };
  }

  private X509ExtendedTrustManager authorities() throws IOException, GeneralSecurityException {
    KeyStore store = null;
    Path authorities = files.authorities();
    if (authorities != null) {
      store = MemoryKeys.emptyStore();
      List<X509Certificate> certificates = named(authorities, PemFiles::certificates);
      for (int i = 0; i < certificates.size(); i++) {
        store.setCertificateEntry("authority-" + i, certificates.get(i));
      }
    }
    TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    factory.init(store);
    return Stream.of(factory.getTrustManagers())
        .filter(X509ExtendedTrustManager.class::isInstance)
        .map(X509ExtendedTrustManager.class::cast)
        .findFirst()
        .orElseThrow();
  }

  @FunctionalInterface
  private interface PemReader<T> {
    T read(Path file) throws IOException;
  }

  private static <T> T named(Path file, PemReader<T> reader) throws IOException {
    try {
      return reader.read(file);
    } catch (IOException unusable) {
      throw new IOException(file + ": " + unusable.getMessage(), unusable);
    }
  }

  private List<String> stamps() {
    return paths().map(ReloadingTls::stamp).toList();
  }

  private Stream<Path> paths() {
    return Stream.of(files.certificate(), files.key(), files.authorities()).filter(Objects::nonNull);
  }

  private static String stamp(Path file) {
    try {
      BasicFileAttributes now = Files.readAttributes(file, BasicFileAttributes.class);
      return now.lastModifiedTime() + " " + now.size() + " " + now.fileKey();
    } catch (IOException missing) {
      return "";
    }
  }

  /** This side's keys as of the handshake. */
  private final class Keys extends X509ExtendedKeyManager {
    @Override
    public String @Nullable [] getClientAliases(String keyType, Principal @Nullable [] issuers) {
      return keys().getClientAliases(keyType, issuers);
    }

    @Override
    public @Nullable String chooseClientAlias(
        String[] keyType, Principal @Nullable [] issuers, @Nullable Socket socket) {
      return keys().chooseClientAlias(keyType, issuers, socket);
    }

    @Override
    public @Nullable String chooseEngineClientAlias(
        String[] keyType, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
      return keys().chooseEngineClientAlias(keyType, issuers, engine);
    }

    @Override
    public String @Nullable [] getServerAliases(String keyType, Principal @Nullable [] issuers) {
      return keys().getServerAliases(keyType, issuers);
    }

    @Override
    public @Nullable String chooseServerAlias(
        String keyType, Principal @Nullable [] issuers, @Nullable Socket socket) {
      return keys().chooseServerAlias(keyType, issuers, socket);
    }

    @Override
    public @Nullable String chooseEngineServerAlias(
        String keyType, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
      return keys().chooseEngineServerAlias(keyType, issuers, engine);
    }

    @Override
    public X509Certificate @Nullable [] getCertificateChain(String alias) {
      X509ExtendedKeyManager holder = holder(alias);
      return holder == null ? null : holder.getCertificateChain(alias);
    }

    @Override
    public @Nullable PrivateKey getPrivateKey(String alias) {
      X509ExtendedKeyManager holder = holder(alias);
      return holder == null ? null : holder.getPrivateKey(alias);
    }

    private X509ExtendedKeyManager keys() {
      return Objects.requireNonNull(current().keys);
    }

    /** The keys of the version that an alias was chosen from. */
    private @Nullable X509ExtendedKeyManager holder(String alias) {
      Material now = material;
      return alias.equals(now.alias()) ? now.keys : now.previous;
    }
  }

  /** The decision about the other side's certificate as of the handshake. */
  private final class Trust extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) throws CertificateException {
      current().trust.checkClientTrusted(chain, authType);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket)
        throws CertificateException {
      current().trust.checkClientTrusted(chain, authType, socket);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
        throws CertificateException {
      current().trust.checkClientTrusted(chain, authType, engine);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
      current().trust.checkServerTrusted(chain, authType);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket)
        throws CertificateException {
      current().trust.checkServerTrusted(chain, authType, socket);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
        throws CertificateException {
      current().trust.checkServerTrusted(chain, authType, engine);
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return current().trust.getAcceptedIssuers();
    }
  }
}
