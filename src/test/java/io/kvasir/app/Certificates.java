package io.kvasir.app;

import io.kvasir.http.TestCertificate;
import io.kvasir.http.TestCertificate.Period;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyStore;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.bouncycastle.asn1.x509.Extension;
import org.jspecify.annotations.Nullable;

/** Authorities and certificates for a test, written as PEM. */
public final class Certificates {
  private static final String PASSWORD = "password";
  private static final String NODE = "kvasir";

  private final Path directory;
  private final Map<String, TestCertificate> made = new HashMap<>();

  /** Writes into a directory. */
  public Certificates(Path directory) {
    this.directory = directory;
  }

  /** An authority of its own. */
  public Certificates authority(String alias) throws Exception {
    return make(
        alias, alias, TestCertificate.ecKeys(), null, TestCertificate.now(), TestCertificate.authority());
  }

  /** A certificate for nodes: they all have the same subject. */
  public Certificates node(String alias, String authority) throws Exception {
    return node(alias, authority, TestCertificate.now());
  }

  /** A certificate for a server on loopback. */
  public Certificates server(String alias, String authority) throws Exception {
    Extension loopback = TestCertificate.host(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
    return make(alias, alias, TestCertificate.ecKeys(), authority, TestCertificate.now(), loopback);
  }

  /** One for nodes, for so many days from now. */
  public Certificates expiring(String alias, String authority, int days) throws Exception {
    return node(alias, authority, new Period(Instant.now(), Duration.ofDays(days)));
  }

  /** One for nodes that has expired, with keys of its own. */
  public Certificates expired(String alias, String authority) throws Exception {
    Period over = new Period(Instant.now().minus(Duration.ofDays(9)), Duration.ofDays(2));
    return make(alias, NODE, TestCertificate.otherRsaKeys(), authority, over, TestCertificate.host(NODE));
  }

  /** The file of a certificate. */
  public String certificate(String alias) {
    return directory.resolve(alias + ".crt").toString();
  }

  public String key(String alias) {
    return directory.resolve(alias + ".key").toString();
  }

  /** Everything, keys too. */
  public KeyStore store() throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    for (Map.Entry<String, TestCertificate> each : made.entrySet()) {
      store.setKeyEntry(each.getKey(), each.getValue().key(), password(), each.getValue().chain());
    }
    return store;
  }

  /** Of the store. */
  public static char[] password() {
    return PASSWORD.toCharArray();
  }

  private Certificates node(String alias, String authority, Period period) throws Exception {
    return make(alias, NODE, TestCertificate.rsaKeys(), authority, period, TestCertificate.host(NODE));
  }

  private Certificates make(
      String alias, String name, KeyPair keys, @Nullable String authority, Period period, Extension extension)
      throws Exception {
    TestCertificate issuer = authority == null ? null : Objects.requireNonNull(made.get(authority), authority);
    TestCertificate certificate = TestCertificate.of(name, keys, issuer, period, extension);
    made.put(alias, certificate);
    write(certificate(alias), "CERTIFICATE", certificate.certificate().getEncoded());
    write(key(alias), "PRIVATE KEY", certificate.key().getEncoded());
    return this;
  }

  private static void write(String file, String kind, byte[] bytes) throws IOException {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
    Files.writeString(Path.of(file), "-----BEGIN " + kind + "-----\n" + body + "\n-----END " + kind + "-----\n");
  }
}
