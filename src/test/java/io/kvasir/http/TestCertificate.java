package io.kvasir.http;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Locale;
import javax.security.auth.x500.X500Principal;
import org.jspecify.annotations.Nullable;

/**
 * A certificate and its key, made in this process as RFC 5280 has them: a keytool would take a second of CPU for each.
 *
 * @param chain the certificate, and that of its issuer if it is another
 */
public record TestCertificate(PrivateKey key, X509Certificate[] chain) {
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyyMMddHHmmss'Z'", Locale.ROOT).withZone(ZoneOffset.UTC);
  private static final byte[] ECDSA_WITH_SHA256 = {0x2a, (byte) 0x86, 0x48, (byte) 0xce, 0x3d, 4, 3, 2};
  private static final byte[] RSA_WITH_SHA256 = {0x2a, (byte) 0x86, 0x48, (byte) 0x86, (byte) 0xf7, 0x0d, 1, 1, 11};
  private static final byte[] ALTERNATIVE_NAME = {0x55, 0x1d, 17};
  private static final byte[] BASIC_CONSTRAINTS = {0x55, 0x1d, 19};

  private static final int BOOLEAN = 0x01;
  private static final int INTEGER = 0x02;
  private static final int BITS = 0x03;
  private static final int OCTETS = 0x04;
  private static final int NULL = 0x05;
  private static final int OBJECT = 0x06;
  private static final int GENERALIZED_TIME = 0x18;
  private static final int SEQUENCE = 0x30;
  private static final int DNS_NAME = 0x82;
  private static final int IP_ADDRESS = 0x87;
  private static final int VERSION = 0xa0;
  private static final int EXTENSIONS = 0xa3;

  /** When a certificate is valid. */
  public record Period(Instant from, Duration length) {}

  /** From an hour ago, for a day. */
  public static Period now() {
    return new Period(Instant.now().minus(Duration.ofHours(1)), Duration.ofDays(1));
  }

  /** Keys on P-256, in a millisecond. */
  public static KeyPair ecKeys() throws GeneralSecurityException {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
    generator.initialize(new ECGenParameterSpec("secp256r1"));
    return generator.generateKeyPair();
  }

  /** RSA's, for the transport between nodes, which reads no others. */
  public static KeyPair rsaKeys() throws GeneralSecurityException {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
    generator.initialize(2048);
    return generator.generateKeyPair();
  }

  /** The extension that makes an authority. */
  public static byte[] authority() {
    return extension(BASIC_CONSTRAINTS, element(SEQUENCE, element(BOOLEAN, new byte[] {(byte) 0xff})));
  }

  /** The extension for a host that is reached by its name. */
  public static byte[] host(String name) {
    return extension(
        ALTERNATIVE_NAME, element(SEQUENCE, element(DNS_NAME, name.getBytes(StandardCharsets.US_ASCII))));
  }

  /** The extension for a host that is reached by its address. */
  public static byte[] host(InetAddress address) {
    return extension(ALTERNATIVE_NAME, element(SEQUENCE, element(IP_ADDRESS, address.getAddress())));
  }

  /**
   * A certificate.
   *
   * @param name of the subject, without its {@code CN=}
   * @param issuer null for one that signs itself
   */
  public static TestCertificate of(
      String name, KeyPair keys, @Nullable TestCertificate issuer, Period period, byte[]... extensions)
      throws GeneralSecurityException {
    byte[] subject = new X500Principal("CN=" + name).getEncoded();
    PrivateKey signer = issuer == null ? keys.getPrivate() : issuer.key;
    boolean rsa = signer.getAlgorithm().equals("RSA");
    byte[] algorithm =
        rsa
            ? element(SEQUENCE, element(OBJECT, RSA_WITH_SHA256), element(NULL))
            : element(SEQUENCE, element(OBJECT, ECDSA_WITH_SHA256));
    byte[] toSign =
        element(
            SEQUENCE,
            element(VERSION, element(INTEGER, new byte[] {2})),
            element(INTEGER, new BigInteger(64, new SecureRandom()).setBit(64).toByteArray()),
            algorithm,
            issuer == null ? subject : issuer.certificate().getSubjectX500Principal().getEncoded(),
            element(SEQUENCE, time(period.from), time(period.from.plus(period.length))),
            subject,
            keys.getPublic().getEncoded(),
            extensions.length == 0 ? new byte[0] : element(EXTENSIONS, element(SEQUENCE, extensions)));
    Signature signature = Signature.getInstance(rsa ? "SHA256withRSA" : "SHA256withECDSA");
    signature.initSign(signer);
    signature.update(toSign);
    byte[] signed = element(SEQUENCE, toSign, algorithm, element(BITS, new byte[] {0}, signature.sign()));
    Certificate certificate =
        CertificateFactory.getInstance("X.509").generateCertificate(new ByteArrayInputStream(signed));
    X509Certificate own = (X509Certificate) certificate;
    return new TestCertificate(
        keys.getPrivate(),
        issuer == null ? new X509Certificate[] {own} : new X509Certificate[] {own, issuer.certificate()});
  }

  /** The certificate itself. */
  public X509Certificate certificate() {
    return chain[0];
  }

  private static byte[] extension(byte[] kind, byte[] value) {
    return element(SEQUENCE, element(OBJECT, kind), element(OCTETS, value));
  }

  private static byte[] time(Instant at) {
    return element(GENERALIZED_TIME, TIME.format(at).getBytes(StandardCharsets.US_ASCII));
  }

  /** An element of DER: its tag, the length of its contents, and these. */
  private static byte[] element(int tag, byte[]... contents) {
    int length = Arrays.stream(contents).mapToInt(part -> part.length).sum();
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(tag);
    if (length < 0x80) {
      out.write(length);
    } else if (length < 0x100) {
      out.write(0x81);
      out.write(length);
    } else {
      out.write(0x82);
      out.write(length >> 8);
      out.write(length);
    }
    for (byte[] part : contents) {
      out.writeBytes(part);
    }
    return out.toByteArray();
  }
}
