package io.kvasir.http;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads certificates and private keys in PEM. Messages of exceptions name no file and are meant for operators. */
public final class PemFiles {
  private static final Pattern PKCS8 =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
  private static final Pattern PKCS1 =
      Pattern.compile("-----BEGIN RSA PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END RSA PRIVATE KEY-----");
  /** What PKCS #8 has ahead of an RSA key in PKCS #1: version 0, and the algorithm without parameters. */
  private static final byte[] RSA_HEAD = HexFormat.of().parseHex("020100300d06092a864886f70d0101010500");
  private static final int DER_SEQUENCE = 0x30;
  private static final int DER_OCTETS = 0x04;
  private static final List<String> ALGORITHMS = List.of("RSA", "EC", "EdDSA");
  private static final byte[] PROBE = {1, 2, 3};

  private PemFiles() {}

  /**
   * All certificates of a file, in its order.
   *
   * @throws IOException when it cannot be read or has none
   */
  public static List<X509Certificate> certificates(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      List<X509Certificate> certificates =
          CertificateFactory.getInstance("X.509").generateCertificates(in).stream()
              .map(X509Certificate.class::cast)
              .toList();
      if (certificates.isEmpty()) {
        throw new IOException("it has no certificate");
      }
      return certificates;
    } catch (CertificateException wrong) {
      throw new IOException("it has no certificate in PEM: " + wrong.getMessage(), wrong);
    }
  }

  /**
   * The private key of a file: RSA, elliptic curves or Edwards curves, as PKCS #8 without a password; RSA also as PKCS
   * #1.
   *
   * @throws IOException when it cannot be read or has none
   */
  public static PrivateKey privateKey(Path file) throws IOException {
    try {
      PKCS8EncodedKeySpec encoded = new PKCS8EncodedKeySpec(pkcs8(Files.readString(file)));
      for (String algorithm : ALGORITHMS) {
        try {
          return KeyFactory.getInstance(algorithm).generatePrivate(encoded);
        } catch (InvalidKeySpecException another) {
          // Of the next algorithm, or of none.
        }
      }
    } catch (GeneralSecurityException | IllegalArgumentException wrong) {
      throw new IOException("its private key cannot be decoded: " + wrong.getMessage(), wrong);
    }
    throw new IOException("its private key is of none of the algorithms " + String.join(", ", ALGORITHMS));
  }

  private static byte[] pkcs8(String text) throws IOException {
    Matcher pkcs8 = PKCS8.matcher(text);
    if (pkcs8.find()) {
      return Base64.getMimeDecoder().decode(pkcs8.group(1));
    }
    Matcher pkcs1 = PKCS1.matcher(text);
    if (pkcs1.find()) {
      byte[] key = der(DER_OCTETS, Base64.getMimeDecoder().decode(pkcs1.group(1)));
      byte[] whole = Arrays.copyOf(RSA_HEAD, RSA_HEAD.length + key.length);
      System.arraycopy(key, 0, whole, RSA_HEAD.length, key.length);
      return der(DER_SEQUENCE, whole);
    }
    throw new IOException(
        "it has no \"BEGIN PRIVATE KEY\"; openssl pkcs8 -topk8 -nodes converts keys of other formats");
  }

  /** A value of DER with a length of two bytes, which that of every RSA key has. */
  private static byte[] der(int tag, byte[] value) {
    return ByteBuffer.allocate(4 + value.length)
        .put((byte) tag)
        .put((byte) 0x82)
        .putShort((short) value.length)
        .put(value)
        .array();
  }

  /** Whether a private key belongs to a certificate: a signature by the one is verified with the other. */
  public static boolean match(PrivateKey key, Certificate certificate) {
    PublicKey known = certificate.getPublicKey();
    String algorithm =
        switch (key.getAlgorithm()) {
          case "EC" -> "SHA256withECDSA";
          case "RSA" -> "SHA256withRSA";
          default -> key.getAlgorithm();
        };
    try {
      Signature signature = Signature.getInstance(algorithm);
      signature.initSign(key);
      signature.update(PROBE);
      byte[] signed = signature.sign();
      signature.initVerify(known);
      signature.update(PROBE);
      return signature.verify(signed);
    } catch (GeneralSecurityException differentKinds) {
      return false;
    }
  }
}
