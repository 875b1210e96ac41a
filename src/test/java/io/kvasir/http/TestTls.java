package io.kvasir.http;

import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A self-signed certificate, and a context that has and trusts it. */
public record TestTls(SSLContext context) {
  public static TestTls forHost(String host) throws Exception {
    TestCertificate certificate =
        TestCertificate.of(
            host, TestCertificate.ecKeys(), null, TestCertificate.now(), TestCertificate.host(host));
    char[] password = {};
    KeyStore keys = KeyStore.getInstance("PKCS12");
    keys.load(null, null);
    keys.setKeyEntry("t", certificate.key(), password, certificate.chain());
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("t", certificate.certificate());
    KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    own.init(keys, password);
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(own.getKeyManagers(), trust.getTrustManagers(), null);
    return new TestTls(context);
  }
}
