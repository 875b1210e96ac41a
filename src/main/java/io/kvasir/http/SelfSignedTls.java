package io.kvasir.http;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.SecureRandom;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;

/**
 * A listener's TLS with a certificate that is made for it, for clients that want TLS and verify nobody: connections are
 * encrypted, but can be intercepted.
 */
public final class SelfSignedTls {
  private static final byte[] COMMON_NAME = {0x55, 4, 3};
  private static final byte[] SUBJECT_ALTERNATIVE_NAME = {0x55, 0x1d, 17};
  private static final byte[] ECDSA_WITH_SHA256 = {0x2a, (byte) 0x86, 0x48, (byte) 0xce, 0x3d, 4, 3, 2};
  private static final DateTimeFormatter TIME =
      DateTimeFormatter.ofPattern("yyyyMMddHHmmss'Z'", Locale.ROOT).withZone(ZoneOffset.UTC);

  private static final int INTEGER = 0x02;
  private static final int BITS = 0x03;
  private static final int OCTETS = 0x04;
  private static final int OBJECT = 0x06;
  private static final int TEXT = 0x0c;
  private static final int GENERALIZED_TIME = 0x18;
  private static final int SEQUENCE = 0x30;
  private static final int SET = 0x31;
  private static final int DNS_NAME = 0x82;
  private static final int VERSION = 0xa0;
  private static final int EXTENSIONS = 0xa3;

  private SelfSignedTls() {}

  /**
   * A context with a new key and a certificate for it.
   *
   * @param name the host that the certificate is for
   * @param valid for how long, from an hour ago: clocks differ
   */
  public static SSLContext context(String name, Duration valid) {
    try {
      KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
      generator.initialize(new ECGenParameterSpec("secp256r1"));
      KeyPair keys = generator.generateKeyPair();
      Instant from = Instant.now().minus(Duration.ofHours(1));
      Certificate certificate =
          CertificateFactory.getInstance("X.509")
              .generateCertificate(new ByteArrayInputStream(certificate(name, keys, from, from.plus(valid))));
      SSLContext context = SSLContext.getInstance("TLS");
      context.init(new KeyManager[] {MemoryKeys.manager("own", keys.getPrivate(), certificate)}, null, null);
      return context;
    } catch (GeneralSecurityException | IOException impossible) {
      throw new IllegalStateException("the JVM cannot make a certificate", impossible);
    }
  }

  /** The certificate in DER (RFC 5280, §4.1). */
  private static byte[] certificate(String name, KeyPair keys, Instant from, Instant until)
      throws GeneralSecurityException {
    byte[] algorithm = element(SEQUENCE, element(OBJECT, ECDSA_WITH_SHA256));
    byte[] subject =
        element(
            SEQUENCE,
            element(
                SET,
                element(
                    SEQUENCE,
                    element(OBJECT, COMMON_NAME),
                    element(TEXT, name.getBytes(StandardCharsets.UTF_8)))));
    byte[] alternative = element(SEQUENCE, element(DNS_NAME, name.getBytes(StandardCharsets.US_ASCII)));
    byte[] toSign =
        element(
            SEQUENCE,
            element(VERSION, element(INTEGER, new byte[] {2})),
            element(INTEGER, new BigInteger(64, new SecureRandom()).setBit(64).toByteArray()),
            algorithm,
            subject,
            element(SEQUENCE, time(from), time(until)),
            subject,
            keys.getPublic().getEncoded(),
            element(
                EXTENSIONS,
                element(
                    SEQUENCE,
                    element(
                        SEQUENCE, element(OBJECT, SUBJECT_ALTERNATIVE_NAME), element(OCTETS, alternative)))));
    Signature signature = Signature.getInstance("SHA256withECDSA");
    signature.initSign(keys.getPrivate());
    signature.update(toSign);
    return element(SEQUENCE, toSign, algorithm, element(BITS, new byte[] {0}, signature.sign()));
  }

  private static byte[] time(Instant at) {
    return element(GENERALIZED_TIME, TIME.format(at).getBytes(StandardCharsets.US_ASCII));
  }

  /** An element of DER: its tag, the length of its contents, and these. */
  private static byte[] element(int tag, byte[]... contents) {
    int length = 0;
    for (byte[] part : contents) {
      length += part.length;
    }
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
