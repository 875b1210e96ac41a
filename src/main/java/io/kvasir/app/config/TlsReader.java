package io.kvasir.app.config;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.PrivateKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import org.apache.pekko.pki.pem.DERPrivateKeyLoader;
import org.apache.pekko.pki.pem.PEMDecoder;

/**
 * Reads the mutual TLS of a cluster and looks into the files, so that one that is missing, has expired or belongs to
 * another is told before anything starts and not by connections that never come about.
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
      together(certificate.get(), key.get(), keyFile, certificateFile);
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
    if (!isThere(name, file)) {
      return Optional.empty();
    }
    try (InputStream in = Files.newInputStream(Path.of(file))) {
      X509Certificate certificate =
          (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(in);
      certificate.checkValidity();
      return Optional.of(certificate);
    } catch (CertificateExpiredException expired) {
      tls.fault(name, file + " has expired (" + expired.getMessage() + "); replace it");
    } catch (CertificateNotYetValidException early) {
      tls.fault(name, file + " is not valid yet (" + early.getMessage() + "); replace it, or set this machine's clock");
    } catch (CertificateException | IOException wrong) {
      tls.fault(name, file + " is no certificate in PEM: " + wrong.getMessage());
    }
    return Optional.empty();
  }

  private Optional<PrivateKey> key(String file) {
    if (!isThere("key", file)) {
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

  private boolean isThere(String name, String file) {
    if (file.isEmpty()) {
      tls.fault(name, "is missing; certificate, key and authority belong together");
      return false;
    }
    if (!Files.isReadable(Path.of(file))) {
      tls.fault(name, file + " cannot be read; does it exist, and may this process read it?");
      return false;
    }
    return true;
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

  /** Signs something with the key, and looks whether the certificate agrees. */
  private void together(X509Certificate certificate, PrivateKey key, String keyFile, String file) {
    boolean agreed;
    try {
      Signature signature = Signature.getInstance("SHA256with" + key.getAlgorithm());
      byte[] text = {1, 2, 3};
      signature.initSign(key);
      signature.update(text);
      byte[] signed = signature.sign();
      signature.initVerify(certificate.getPublicKey());
      signature.update(text);
      agreed = signature.verify(signed);
    } catch (GeneralSecurityException differentKinds) {
      agreed = false;
    }
    if (!agreed) {
      tls.fault("key", keyFile + " is not the key of " + file);
    }
  }
}
