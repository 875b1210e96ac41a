package io.kvasir.http;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.app.Certificates;
import io.kvasir.http.TlsFiles.Verification;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Handshakes over real sockets, with files that are replaced between them. */
final class ReloadingTlsTest {
  private static final Duration RELOAD = Duration.ofMinutes(1);

  @TempDir private static Path made = Path.of("");
  private static Certificates certificates = new Certificates(made);

  @TempDir private Path files = Path.of("");
  private final AtomicLong nanos = new AtomicLong();
  private long written;

  @BeforeAll
  static void make() throws Exception {
    certificates =
        new Certificates(made)
            .authority("ca").authority("other-ca").server("first", "ca").server("second", "ca")
            .server("foreign", "other-ca").node("elsewhere", "ca");
  }

  @Test
  void replacedFiles_areServed_afterTheReloadInterval() throws Exception {
    put("first");
    ReloadingTls server = tls(own(), null, Verification.HOST);
    ReloadingTls client = tls(null, certificates.certificate("ca"), Verification.HOST);
    assertThat(handshake(server, client)).isEqualTo("CN=first");

    put("second");
    assertThat(handshake(server, client)).isEqualTo("CN=first");
    nanos.addAndGet(RELOAD.toNanos());
    assertThat(handshake(server, client)).isEqualTo("CN=second");
  }

  @Test
  void damagedFiles_leaveThePreviousOnesInService() throws Exception {
    put("first");
    ReloadingTls server = tls(own(), null, Verification.HOST);
    Files.writeString(files.resolve("own.key"), "damaged");
    nanos.addAndGet(RELOAD.toNanos());

    assertThat(handshake(server, tls(null, certificates.certificate("ca"), Verification.HOST))).isEqualTo("CN=first");
  }

  @Test
  void otherAuthorities_areNotTrusted_unlessInsecure() throws Exception {
    put("foreign");
    ReloadingTls server = tls(own(), null, Verification.HOST);

    assertThatThrownBy(() -> handshake(server, tls(null, certificates.certificate("ca"), Verification.HOST)))
        .isInstanceOf(SSLHandshakeException.class);
    assertThat(handshake(server, tls(null, null, Verification.NONE))).isEqualTo("CN=foreign");
  }

  /** As nodes do among themselves: certificates name the public host, and every node's address is another. */
  @Test
  void authorityAlone_takesOtherHosts_butNoOtherAuthorities() throws Exception {
    put("elsewhere");
    ReloadingTls server = tls(own(), null, Verification.HOST);

    assertThatThrownBy(() -> handshake(server, tls(null, certificates.certificate("ca"), Verification.HOST)))
        .isInstanceOf(SSLHandshakeException.class);
    assertThat(handshake(server, tls(null, certificates.certificate("ca"), Verification.AUTHORITY)))
        .isEqualTo("CN=kvasir");
    assertThat(handshake(server, tls(null, certificates.certificate("elsewhere"), Verification.AUTHORITY)))
        .isEqualTo("CN=kvasir");
    ReloadingTls stranger = tls(null, certificates.certificate("other-ca"), Verification.AUTHORITY);
    assertThatThrownBy(() -> handshake(server, stranger))
        .isInstanceOf(SSLHandshakeException.class);
  }

  @Test
  void files_thatDoNotBelongTogether_areRefused() {
    TlsFiles mixed =
        new TlsFiles(
            Path.of(certificates.certificate("first")),
            Path.of(certificates.key("second")),
            null,
            Verification.HOST,
            RELOAD);

    assertThatThrownBy(() -> new ReloadingTls(mixed, nanos::get))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("is not the key of");
  }

  private ReloadingTls tls(@Nullable Path own, @Nullable String authority, Verification verification)
      throws IOException {
    return new ReloadingTls(
        new TlsFiles(
            own == null ? null : own.resolve("own.crt"),
            own == null ? null : own.resolve("own.key"),
            authority == null ? null : Path.of(authority),
            verification,
            RELOAD),
        nanos::get);
  }

  private Path own() {
    return files;
  }

  /** Each writing has a time of its own, however coarse the file system's are. */
  private void put(String alias) throws IOException {
    copy(certificates.certificate(alias), "own.crt");
    copy(certificates.key(alias), "own.key");
  }

  private void copy(String from, String to) throws IOException {
    Path file = Files.writeString(files.resolve(to), Files.readString(Path.of(from)));
    Files.setLastModifiedTime(file, FileTime.fromMillis(1_700_000_000_000L + 1000 * written++));
  }

  /** The subject that the server shows to a client which checks its address. */
  private static String handshake(ReloadingTls server, ReloadingTls client) throws Exception {
    try (SSLServerSocket listener =
        (SSLServerSocket)
            server.context().getServerSocketFactory().createServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      CompletableFuture<Void> served = CompletableFuture.runAsync(() -> serve(listener), Thread::startVirtualThread);
      try (Socket tcp = new Socket(InetAddress.getLoopbackAddress(), listener.getLocalPort());
          SSLSocket socket =
              (SSLSocket) client.context().getSocketFactory().createSocket(tcp, "127.0.0.1", tcp.getPort(), true)) {
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        socket.setSSLParameters(parameters);
        socket.startHandshake();
        return ((X509Certificate) socket.getSession().getPeerCertificates()[0]).getSubjectX500Principal().getName();
      } finally {
        served.join();
      }
    }
  }

  private static void serve(SSLServerSocket listener) {
    try (SSLSocket socket = (SSLSocket) listener.accept()) {
      socket.startHandshake();
      int end = socket.getInputStream().read();
      assertThat(end).isNegative();
    } catch (IOException refused) {
      // The client reports why.
    }
  }
}
