package io.kvasir.http;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** A self-signed certificate, made by the JDK's own keytool, and a context that has and trusts it. */
public record TestTls(SSLContext context) {
  public static TestTls forHost(String host) throws Exception {
    Path directory = Files.createTempDirectory("tls");
    Path store = directory.resolve("store.p12");
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    Process made =
        new ProcessBuilder(
                keytool, "-genkeypair", "-alias", "t", "-keyalg", "EC", "-dname", "CN=" + host, "-ext",
                "SAN=dns:" + host, "-validity", "2", "-storetype", "PKCS12", "-storepass", "secret",
                "-keystore", store.toString())
            .inheritIO()
            .start();
    if (!made.waitFor(60, TimeUnit.SECONDS) || made.exitValue() != 0) {
      throw new IllegalStateException("keytool failed");
    }
    KeyStore keys = KeyStore.getInstance("PKCS12");
    char[] password = "secret".toCharArray();
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, password);
    }
    Files.delete(store);
    Files.delete(directory);
    KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    own.init(keys, password);
    TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(keys);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(own.getKeyManagers(), trust.getTrustManagers(), null);
    return new TestTls(context);
  }
}
