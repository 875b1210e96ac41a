package io.kvasir.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.util.Arrays;
import java.util.Base64;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class PemFilesTest {
  /** What the JDK's PKCS #8 has ahead of the key in PKCS #1: two lengths of three bytes, and 18 bytes between them. */
  private static final int PKCS8_HEAD = 26;

  @TempDir Path directory;

  @ParameterizedTest
  @ValueSource(ints = {1024, 2048})
  void anRsaKey_isReadInBothFormats(int bits) throws Exception {
    KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
    generator.initialize(bits);
    KeyPair pair = generator.generateKeyPair();
    byte[] pkcs8 = pair.getPrivate().getEncoded();
    assertThat(PemFiles.privateKey(pem("PRIVATE KEY", pkcs8))).isEqualTo(pair.getPrivate());
    byte[] pkcs1 = Arrays.copyOfRange(pkcs8, PKCS8_HEAD, pkcs8.length);
    assertThat(PemFiles.privateKey(pem("RSA PRIVATE KEY", pkcs1))).isEqualTo(pair.getPrivate());
  }

  @Test
  void whatIsNoKey_isRefusedWithTheRemedy() throws Exception {
    assertThatThrownBy(() -> PemFiles.privateKey(pem("EC PRIVATE KEY", new byte[40])))
        .hasMessageContaining("openssl pkcs8");
    assertThatThrownBy(() -> PemFiles.privateKey(pem("RSA PRIVATE KEY", new byte[40])))
        .hasMessageContaining("of none of the algorithms");
  }

  private Path pem(String kind, byte[] der) throws Exception {
    String text = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(der);
    return Files.writeString(
        directory.resolve("key.pem"), "-----BEGIN %s-----\n%s\n-----END %s-----\n".formatted(kind, text, kind));
  }
}
