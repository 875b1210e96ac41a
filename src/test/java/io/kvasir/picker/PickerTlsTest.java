package io.kvasir.picker;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.Certificates;
import io.kvasir.gateway.GatewayAccess;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.pools.PoolSet;
import io.kvasir.time.ManualClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.security.cert.X509Certificate;
import java.time.Duration;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The certificate that gateways see. */
final class PickerTlsTest {
  private static final Duration RELOAD = Duration.ofMinutes(1);

  @TempDir private Path directory = Path.of("");
  private long written;

  @Test
  void replacedFiles_areServedToNewConnections() throws Exception {
    Certificates certificates =
        new Certificates(directory).authority("ca").server("first", "ca").server("second", "ca");
    put(certificates, "first");
    ManualClock clock = new ManualClock();
    TlsFiles files =
        new TlsFiles(
            directory.resolve("tls.crt"), directory.resolve("tls.key"), null, TlsFiles.Verification.NONE, RELOAD);
    PickerSettings settings =
        new PickerSettings(
            new PickerSettings.Listener("127.0.0.1", 0, 0, true, files), TestPicker.SETTINGS.limits(), true, 0, false,
            Duration.ofMillis(300), false, PoolSet.NONE);
    try (TestPicker picker = new TestPicker(settings, GatewayAccess.open(), clock)) {
      int port = picker.picker.ports().getFirst();
      assertThat(subject(port)).isEqualTo("CN=first");

      put(certificates, "second");
      assertThat(subject(port)).isEqualTo("CN=first");
      clock.advance(RELOAD);
      assertThat(subject(port)).isEqualTo("CN=second");
    }
  }

  /** Each writing has a time of its own, however coarse the file system's are. */
  private void put(Certificates certificates, String alias) throws IOException {
    copy(certificates.certificate(alias), "tls.crt");
    copy(certificates.key(alias), "tls.key");
  }

  private void copy(String from, String to) throws IOException {
    Path file = Files.writeString(directory.resolve(to), Files.readString(Path.of(from)));
    Files.setLastModifiedTime(file, FileTime.fromMillis(1_700_000_000_000L + 1000 * written++));
  }

  /** Whose certificate a new connection is shown. */
  private static String subject(int port) throws IOException {
    ReloadingTls trusting =
        new ReloadingTls(new TlsFiles(null, null, null, TlsFiles.Verification.NONE, RELOAD), new ManualClock());
    try (SSLSocket socket = (SSLSocket) trusting.context().getSocketFactory().createSocket("127.0.0.1", port)) {
      SSLParameters parameters = socket.getSSLParameters();
      parameters.setApplicationProtocols(new String[] {"h2"});
      socket.setSSLParameters(parameters);
      socket.startHandshake();
      assertThat(socket.getApplicationProtocol()).isEqualTo("h2");
      return ((X509Certificate) socket.getSession().getPeerCertificates()[0]).getSubjectX500Principal().getName();
    }
  }
}
