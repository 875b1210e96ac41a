package io.kvasir.http;

import java.security.KeyStore;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A self-signed certificate, and a context that has and trusts it. */
public record TestTls(SSLContext context) {
  public static TestTls forHost(String host) throws Exception {
    TestCertificate certificate =
        TestCertificate.of(
            host, TestCertificate.ecKeys(), null, TestCertificate.now(), TestCertificate.host(host));
    KeyStore trusted = MemoryKeys.emptyStore();
    trusted.setCertificateEntry("t", certificate.certificate());
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    KeyManager own = MemoryKeys.manager("t", certificate.key(), certificate.chain());
    context.init(new KeyManager[] {own}, trust.getTrustManagers(), null);
    return new TestTls(context);
  }
}
