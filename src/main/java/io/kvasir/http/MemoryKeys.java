package io.kvasir.http;

import java.io.IOException;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.KeyStore.PasswordProtection;
import java.security.KeyStore.PrivateKeyEntry;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.util.stream.Stream;
import javax.crypto.spec.PBEParameterSpec;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;

/** Keys for TLS that are never written anywhere. */
final class MemoryKeys {
  private static final char[] NO_PASSWORD = {};

  /**
   * A key store seals its keys with a password, by 10,000 rounds of a hash and as many to open it again: 10 ms each for
   * a store that no file ever has, and no password guards.
   */
  private static final PasswordProtection UNSEALED =
      new PasswordProtection(NO_PASSWORD, "PBEWithHmacSHA256AndAES_256", new PBEParameterSpec(new byte[8], 1));

  private MemoryKeys() {}

  /** A store without anything in it. */
  static KeyStore emptyStore() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, NO_PASSWORD);
    return store;
  }

  /** Shows one certificate, by its key, to the other side of connections. */
  static X509ExtendedKeyManager manager(String alias, PrivateKey key, Certificate... chain)
      throws IOException, GeneralSecurityException {
    KeyStore store = emptyStore();
    store.setEntry(alias, new PrivateKeyEntry(key, chain), UNSEALED);
    KeyManagerFactory factory = KeyManagerFactory.getInstance("SunX509");
    factory.init(store, NO_PASSWORD);
    return Stream.of(factory.getKeyManagers())
        .filter(X509ExtendedKeyManager.class::isInstance)
        .map(X509ExtendedKeyManager.class::cast)
        .findFirst()
        .orElseThrow();
  }
}
