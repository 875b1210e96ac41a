package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;

/** Authorities and certificates for a test, made with the JDK's keytool and written as PEM. */
public final class Certificates {
  private static final String PASSWORD = "password";

  private final Path directory;
  private final Path store;

  /** Writes into a directory. */
  public Certificates(Path directory) {
    this.directory = directory;
    this.store = directory.resolve("all.p12");
  }

  /** An authority of its own. */
  public Certificates authority(String alias) throws Exception {
    return make(alias, "-dname", "CN=" + alias, "-ext", "bc:c");
  }

  /** A certificate for nodes: they all have the same subject. */
  public Certificates node(String alias, String authority) throws Exception {
    return make(alias, "-dname", "CN=kvasir", "-ext", "san=dns:kvasir", "-signer", authority);
  }

  /** A certificate for a server on loopback. */
  public Certificates server(String alias, String authority) throws Exception {
    return make(alias, "-dname", "CN=" + alias, "-ext", "san=ip:127.0.0.1", "-signer", authority);
  }

  /** The same, for so many days from now. */
  public Certificates expiring(String alias, String authority, int days) throws Exception {
    return make(
        alias, "-dname", "CN=kvasir", "-ext", "san=dns:kvasir", "-signer", authority, "-validity",
        String.valueOf(days));
  }

  public Certificates expired(String alias, String authority) throws Exception {
    return make(alias, "-dname", "CN=kvasir", "-signer", authority, "-startdate", "-9d", "-validity", "2");
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
    return KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
  }

  /** Of the store. */
  public static char[] password() {
    return PASSWORD.toCharArray();
  }

  private Certificates make(String alias, String... how) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair", "-alias", alias,
                "-keyalg", "RSA", "-keysize", "2048", "-storetype", "PKCS12", "-keystore", store.toString(),
                "-storepass", PASSWORD));
    command.addAll(Arrays.asList(how));
    Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(said).isZero();
    KeyStore keys = store();
    write(certificate(alias), "CERTIFICATE", keys.getCertificate(alias).getEncoded());
    write(key(alias), "PRIVATE KEY", keys.getKey(alias, password()).getEncoded());
    return this;
  }

  private static void write(String file, String kind, byte[] bytes) throws IOException {
    String body = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(bytes);
    Files.writeString(Path.of(file), "-----BEGIN " + kind + "-----\n" + body + "\n-----END " + kind + "-----\n");
  }
}
