package io.kvasir.app.config;

import io.kvasir.http.PemFiles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.apache.pekko.pki.pem.DERPrivateKeyLoader;
import org.apache.pekko.pki.pem.PEMDecoder;

/**
 * Reads the mutual TLS of a cluster and checks its files, so that one that is missing, has expired or belongs to
 * another is reported before anything starts and not by connections that never come about.
 */
final class TlsReader {
  private static final String ENGINE = "pekko.remote.artery.ssl.rotating-keys-engine.";

  private final ConfigSection tls;

  TlsReader(ConfigSection tls) {
    this.tls = tls;
  }

  /** The platform's settings; none without TLS. */
  Map<String, Object> settings() {
    String certificateFile = tls.text("certificate");
    String keyFile = tls.text("key");
    String authorityFile = tls.text("authority");
    Duration reload = tls.duration("reload");
    tls.rejectUnread();
    if (certificateFile.isEmpty() && keyFile.isEmpty() && authorityFile.isEmpty()) {
      return Map.of();
    }
    Optional<X509Certificate> certificate = certificate("certificate", certificateFile);
    Optional<X509Certificate> authority = certificate("authority", authorityFile);
    Optional<PrivateKey> key = key(keyFile);
    if (certificate.isPresent() && authority.isPresent()) {
      issued(certificate.get(), authority.get(), certificateFile);
    }
    if (certificate.isPresent() && key.isPresent()) {
      if (!PemFiles.match(key.get(), certificate.get())) {
        tls.fault("key", keyFile + " is not the key of " + certificateFile);
      }
    }
    return Map.of(
        "pekko.remote.artery.transport", "tls-tcp",
        "pekko.remote.artery.ssl.ssl-engine-provider",
        "org.apache.pekko.remote.artery.tcp.ssl.RotatingKeysSSLEngineProvider",
        ENGINE + "cert-file", certificateFile,
        ENGINE + "key-file", keyFile,
        ENGINE + "ca-cert-file", authorityFile,
        ENGINE + "ssl-context-cache-ttl", reload.toMillis() + " ms");
  }

  private Optional<X509Certificate> certificate(String name, String file) {
    return isNamed(name, file) ? TlsFilesReader.certificate(tls, name, Path.of(file)) : Optional.empty();
  }

  private Optional<PrivateKey> key(String file) {
    if (!isNamed("key", file) || !TlsFilesReader.isReadable(tls, "key", Path.of(file))) {
      return Optional.empty();
    }
    try {
      return Optional.of(DERPrivateKeyLoader.load(PEMDecoder.decode(Files.readString(Path.of(file)))));
    } catch (Exception wrong) {
      // Scala declares nothing: what the JDK throws at keys of other kinds comes through, too.
      tls.fault("key", file + " is no RSA private key in PEM without a password: " + wrong.getMessage());
      return Optional.empty();
    }
  }

  private boolean isNamed(String name, String file) {
    if (file.isEmpty()) {
      tls.fault(name, "is missing; certificate, key and authority belong together");
    }
    return !file.isEmpty();
  }

  private void issued(X509Certificate certificate, X509Certificate authority, String file) {
    try {
      certificate.verify(authority.getPublicKey());
    } catch (GeneralSecurityException other) {
      tls.fault(
          "certificate",
          file + " was not issued by the authority (" + authority.getSubjectX500Principal() + "), but by "
              + certificate.getIssuerX500Principal());
    }
  }
}
