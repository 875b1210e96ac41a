package io.kvasir.app.config;

import io.kvasir.http.PemFiles;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.http.TlsFiles.Verification;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivateKey;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.X509Certificate;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads which PEM files TLS uses, and checks their contents, so that a bad one is reported before anything starts. */
final class TlsFilesReader {
  private static final String CERTIFICATE = "certificate";
  private static final String KEY = "key";

  private TlsFilesReader() {}

  /** The TLS of a listener, null when it is off. */
  static @Nullable TlsFiles listener(ConfigSection tls) {
    Path certificate = certificateWithKey(tls);
    Path authority = file(tls, "client-authority");
    if (certificate == null && authority != null) {
      tls.fault("client-authority", "is of use with TLS only: name certificate and key, too");
    }
    if (authority != null) {
      certificate(tls, "client-authority", authority);
    }
    TlsFiles files = new TlsFiles(certificate, file(tls, KEY), authority, Verification.HOST, tls.duration("reload"));
    tls.rejectUnread();
    return certificate == null ? null : files;
  }

  /** The TLS of a client, null when it goes by what the JVM trusts. */
  static @Nullable TlsFiles client(ConfigSection tls) {
    Path certificate = certificateWithKey(tls);
    Path authority = file(tls, "authority");
    boolean insecure = tls.flag("insecure");
    if (authority != null) {
      certificate(tls, "authority", authority);
      if (insecure) {
        tls.fault("insecure", "accepts every certificate: remove it, or the authority");
      }
    }
    TlsFiles files =
        new TlsFiles(
            certificate, file(tls, KEY), authority, insecure ? Verification.NONE : Verification.HOST,
            tls.duration("reload"));
    tls.rejectUnread();
    return certificate == null && authority == null && !insecure ? null : files;
  }

  /**
   * Whether a listener accepts its own certificate from a client; also where the files have faults, which are reported
   * when they are read.
   */
  static boolean acceptsItself(TlsFiles listener) {
    try {
      return new ReloadingTls(listener, NanoClock.SYSTEM).acceptsItself();
    } catch (IOException faulty) {
      return true;
    }
  }

  /** The first certificate of a file; empty after a fault. */
  static Optional<X509Certificate> certificate(ConfigSection tls, String setting, Path file) {
    if (!isReadable(tls, setting, file)) {
      return Optional.empty();
    }
    try {
      X509Certificate certificate = PemFiles.certificates(file).getFirst();
      certificate.checkValidity();
      return Optional.of(certificate);
    } catch (CertificateExpiredException expired) {
      tls.fault(setting, file + " has expired (" + expired.getMessage() + "); replace it");
    } catch (CertificateNotYetValidException early) {
      tls.fault(
          setting, file + " is not valid yet (" + early.getMessage() + "); replace it, or set this machine's clock");
    } catch (IOException wrong) {
      tls.fault(setting, file + " is no certificate in PEM: " + wrong.getMessage());
    }
    return Optional.empty();
  }

  static boolean isReadable(ConfigSection tls, String setting, Path file) {
    if (Files.isDirectory(file)) {
      tls.fault(setting, file + " is a directory; name a file");
      return false;
    }
    if (Files.isReadable(file)) {
      return true;
    }
    tls.fault(setting, file + " cannot be read; does it exist, and may this process read it?");
    return false;
  }

  /** The certificate's file, checked together with its key; null when neither is named. */
  private static @Nullable Path certificateWithKey(ConfigSection tls) {
    Path certificate = file(tls, CERTIFICATE);
    Path key = file(tls, KEY);
    if (certificate == null || key == null) {
      if (certificate != null || key != null) {
        tls.fault(certificate == null ? CERTIFICATE : KEY, "is missing; certificate and key belong together");
      }
      return certificate;
    }
    Optional<X509Certificate> read = certificate(tls, CERTIFICATE, certificate);
    if (isReadable(tls, KEY, key)) {
      try {
        PrivateKey secret = PemFiles.privateKey(key);
        if (read.isPresent() && !PemFiles.match(secret, read.get())) {
          tls.fault(KEY, key + " is not the key of " + certificate);
        }
      } catch (IOException wrong) {
        tls.fault(KEY, key + " is no private key in PEM: " + wrong.getMessage());
      }
    }
    return certificate;
  }

  private static @Nullable Path file(ConfigSection tls, String setting) {
    String name = tls.text(setting);
    return name.isBlank() ? null : Path.of(name);
  }
}
