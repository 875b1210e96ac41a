package io.kvasir.answers;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.SslOptions;
import redis.clients.jedis.SslVerifyMode;

/** TLS to the store: its certificate has to name the host and to be signed by a trusted authority. */
final class StoreTls {
  /** A store of certificates alone is no secret, but the format requires one. */
  private static final char[] NO_SECRET = "certificates".toCharArray();

  private StoreTls() {}

  /**
   * How connections are secured.
   *
   * @param authorities PEM certificates to trust, null for those Java trusts
   */
  static SslOptions options(@Nullable Path authorities) throws IOException {
    SslOptions.Builder options = SslOptions.builder().sslVerifyMode(SslVerifyMode.FULL);
    if (authorities != null) {
      byte[] trusted = trusted(authorities);
      options.trustStoreType("PKCS12").truststore(() -> new ByteArrayInputStream(trusted), NO_SECRET);
    }
    return options.build();
  }

  private static byte[] trusted(Path authorities) throws IOException {
    try (InputStream in = Files.newInputStream(authorities)) {
      KeyStore trusted = KeyStore.getInstance("PKCS12");
      trusted.load(null, NO_SECRET);
      for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
        trusted.setCertificateEntry("authority-" + trusted.size(), each);
      }
      if (trusted.size() == 0) {
        throw new IOException(authorities + " holds no certificates");
      }
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      trusted.store(out, NO_SECRET);
      return out.toByteArray();
    } catch (GeneralSecurityException unusable) {
      throw new IOException(authorities + " holds no usable certificates: " + unusable.getMessage(), unusable);
    }
  }
}
