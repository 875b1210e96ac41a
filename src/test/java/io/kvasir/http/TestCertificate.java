package io.kvasir.http;

import java.io.IOException;
import java.math.BigInteger;
import java.net.InetAddress;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.security.spec.ECGenParameterSpec;
import java.time.Duration;
import java.time.Instant;
import java.util.Date;
import org.bouncycastle.asn1.x500.X500Name;
import org.bouncycastle.asn1.x509.BasicConstraints;
import org.bouncycastle.asn1.x509.Extension;
import org.bouncycastle.asn1.x509.GeneralName;
import org.bouncycastle.asn1.x509.GeneralNames;
import org.bouncycastle.cert.X509v3CertificateBuilder;
import org.bouncycastle.cert.jcajce.JcaX509CertificateConverter;
import org.bouncycastle.cert.jcajce.JcaX509v3CertificateBuilder;
import org.bouncycastle.operator.ContentSigner;
import org.bouncycastle.operator.OperatorCreationException;
import org.bouncycastle.operator.jcajce.JcaContentSignerBuilder;
import org.jspecify.annotations.Nullable;

/**
 * A certificate and its key, made in this process: a keytool would take a second of CPU for each.
 *
 * @param chain the certificate, and that of its issuer if it is another
 */
public record TestCertificate(PrivateKey key, X509Certificate[] chain) {
  private static @Nullable KeyPair rsaKeys;

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

  /** RSA's, for the transport between nodes, which reads no others: the same for all, since they take a second. */
  public static synchronized KeyPair rsaKeys() throws GeneralSecurityException {
    KeyPair keys = rsaKeys;
    if (keys == null) {
      keys = otherRsaKeys();
      rsaKeys = keys;
    }
    return keys;
  }

  /** RSA's that nobody else has. */
  public static KeyPair otherRsaKeys() throws GeneralSecurityException {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
    generator.initialize(2048);
    return generator.generateKeyPair();
  }

  /** The extension that makes an authority. */
  public static Extension authority() throws IOException {
    return Extension.create(Extension.basicConstraints, false, new BasicConstraints(true));
  }

  /** The extension for a host that is reached by its name. */
  public static Extension host(String name) throws IOException {
    return host(new GeneralName(GeneralName.dNSName, name));
  }

  /** The extension for a host that is reached by its address. */
  public static Extension host(InetAddress address) throws IOException {
    return host(new GeneralName(GeneralName.iPAddress, address.getHostAddress()));
  }

  private static Extension host(GeneralName name) throws IOException {
    return Extension.create(Extension.subjectAlternativeName, false, new GeneralNames(name));
  }

  /**
   * A certificate with one extension.
   *
   * @param name of the subject, without its {@code CN=}
   * @param issuer null for one that signs itself
   */
  public static TestCertificate of(
      String name, KeyPair keys, @Nullable TestCertificate issuer, Period period, Extension extension)
      throws GeneralSecurityException, IOException, OperatorCreationException {
    X500Name subject = new X500Name("CN=" + name);
    X500Name signedBy =
        issuer == null
            ? subject
            : X500Name.getInstance(issuer.certificate().getSubjectX500Principal().getEncoded());
    X509v3CertificateBuilder certificate =
        new JcaX509v3CertificateBuilder(
            signedBy, new BigInteger(64, new SecureRandom()).setBit(64), Date.from(period.from),
            Date.from(period.from.plus(period.length)), subject, keys.getPublic());
    certificate.addExtension(extension);
    PrivateKey signing = issuer == null ? keys.getPrivate() : issuer.key;
    ContentSigner signer =
        new JcaContentSignerBuilder(signing.getAlgorithm().equals("RSA") ? "SHA256withRSA" : "SHA256withECDSA")
            .build(signing);
    X509Certificate own = new JcaX509CertificateConverter().getCertificate(certificate.build(signer));
    return new TestCertificate(
        keys.getPrivate(),
        issuer == null ? new X509Certificate[] {own} : new X509Certificate[] {own, issuer.certificate()});
  }

  /** The certificate itself. */
  public X509Certificate certificate() {
    return chain[0];
  }
}
