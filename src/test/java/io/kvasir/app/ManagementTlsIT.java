package io.kvasir.app;

import static io.kvasir.Await.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.node.Node;
import io.kvasir.cell.ClusterStatus.NodeStatus;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.http.TlsFiles.Verification;
import io.kvasir.load.Ports;
import io.kvasir.time.NanoClock;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes whose management port has TLS, those who administer them, and each other. */
final class ManagementTlsIT {
  private static final String ADMIN_KEY = "an-admin-key-0123456789";

  @TempDir private static Path directory = Path.of("");
  private static Certificates certificates = new Certificates(Path.of(""));

  @BeforeAll
  static void make() throws Exception {
    certificates =
        new Certificates(directory)
            .authority("ca").server("node", "ca").server("operator", "ca")
            .authority("other-ca").server("stranger", "other-ca");
    Files.writeString(
        directory.resolve("keys"), "# digests first\nsha256:" + "0".repeat(64) + " eve\n" + ADMIN_KEY + " ada admin\n");
  }

  @Test
  void commands_reachTheNodeByHttps_ifTheyKnowItsAuthority() throws Exception {
    try (Node node = node("")) {
      assertThat(node.managementUrl().getScheme()).isEqualTo("https");

      TestCommand status = command(node, "cluster", "status", "--ca", certificates.certificate("ca"));
      assertThat(status.out()).as(status.err()).contains("(answers)");
      assertThat(command(node, "keys", "list", "--insecure").out()).contains("TENANT");

      assertThat(command(node, "cluster", "status").err()).contains("TLS with https://", "--ca");
      assertThat(command(node, "cluster", "status", "--ca", certificates.certificate("other-ca")).err())
          .contains("TLS with https://", "--ca");
      assertThat(command(node, "cluster", "status", "--ca", "nowhere.crt").err()).contains("nowhere.crt");
      URI plain = URI.create("http://127.0.0.1:" + node.management().getPort());
      assertThat(TestCommand.run("cluster", "status", "--management", plain.toString()).err()).contains("(https)");
    }
  }

  @Test
  void withAClientAuthority_everyClientShowsACertificate() throws Exception {
    try (Node node = node("client-authority = \"%s\"".formatted(certificates.certificate("ca")))) {
      TestCommand status =
          command(
              node, "cluster", "status", "--ca", certificates.certificate("ca"),
              "--certificate", certificates.certificate("operator"), "--client-key", certificates.key("operator"));
      assertThat(status.out()).as(status.err()).contains("(answers)");

      assertThat(command(node, "cluster", "status", "--ca", certificates.certificate("ca")).err())
          .contains("TLS with https://", "--certificate");
      assertThat(
              command(
                      node, "cluster", "status", "--ca", certificates.certificate("ca"),
                      "--certificate", certificates.certificate("stranger"), "--client-key",
                      certificates.key("stranger"))
                  .err())
          .contains("TLS with https://");
      assertThat(
              command(node, "cluster", "status", "--certificate", certificates.certificate("operator")).err())
          .contains("--client-key");
    }
  }

  /** On the gateway as on the management port: 1.3 before 1.2, and HTTP/1.1, whatever else the client offers. */
  @Test
  void versions_andApplicationProtocol_areAgreedUpon() throws Exception {
    try (Node node = node("")) {
      for (InetSocketAddress listener : List.of(node.management(), node.gateway())) {
        assertThat(handshake(listener, "TLSv1.3", "TLSv1.2")).isEqualTo("TLSv1.3 http/1.1");
        assertThat(handshake(listener, "TLSv1.2")).isEqualTo("TLSv1.2 http/1.1");
      }
    }
  }

  @Test
  void certificate_isReplacedWhileTheNodeRuns() throws Exception {
    certificates.server("replaced", "ca");
    try (Node node = node("reload = 100 ms", "replaced")) {
      assertThat(subject(node.management())).isEqualTo("CN=replaced");
      for (String kind : List.of(".crt", ".key")) {
        Files.copy(
            directory.resolve("operator" + kind), directory.resolve("replaced" + kind),
            StandardCopyOption.REPLACE_EXISTING);
      }
      await("the new certificate", () -> subject(node.management()).equals("CN=operator"));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void nodes_findEachOtherByDns(boolean clientAuthority) throws Exception {
    List<Integer> ports = List.of(Ports.free(), Ports.free());
    List<Node> nodes = new ArrayList<>();
    try (FakeDns dns = new FakeDns("_management._tcp.kvasir.test", ports)) {
      for (int port : ports) {
        nodes.add(
            node(
                clientAuthority ? "client-authority = \"%s\"".formatted(certificates.certificate("ca")) : "",
                "node",
                """
                management.port = %d
                cluster {
                  port = %d
                  discovery = dns
                  dns { name = kvasir.test, port-name = management, servers = ["%s"] }
                  required-nodes = 2
                  stable-for = 500 ms
                  allow-loopback = true
                }
                """
                    .formatted(port, Ports.free(), dns.address())));
      }
      await("two nodes in one cluster", () -> nodes.stream().allMatch(node -> up(node) == 2));
    } finally {
      nodes.forEach(Node::close);
    }
  }

  private static Node node(String tls) throws Exception {
    return node(tls, "node");
  }

  private static Node node(String tls, String alias, String... more) throws Exception {
    String own =
        "certificate = \"%s\", key = \"%s\"".formatted(certificates.certificate(alias), certificates.key(alias));
    return TestNodes.start(
        """
        kvasir {
          gateway.tls { %s }
          management { admin-keys = ["%s ada"], tls { %s, reload = 1 s, %s } }
          %s
        }
        """
            .formatted(own, ADMIN_KEY, own, tls, String.join("\n", more)));
  }

  private static TestCommand command(Node node, String... command) {
    return TestCommand.run(
        Stream.concat(
                Stream.of(command),
                Stream.of(
                    "--management", node.managementUrl().toString(), "--key-file",
                    directory.resolve("keys").toString()))
            .toArray(String[]::new));
  }

  private static long up(Node node) {
    return node.fleet().cluster().nodes().stream().map(NodeStatus::state).filter("up"::equals).count();
  }

  /** The version and the application protocol that a client and a listener agree upon. */
  private static String handshake(InetSocketAddress listener, String... versions) throws Exception {
    try (SSLSocket socket = connected(listener)) {
      SSLParameters wanted = socket.getSSLParameters();
      wanted.setProtocols(versions);
      wanted.setApplicationProtocols(new String[] {"h2", "http/1.1"});
      socket.setSSLParameters(wanted);
      socket.startHandshake();
      return socket.getSession().getProtocol() + " " + socket.getApplicationProtocol();
    }
  }

  private static String subject(InetSocketAddress listener) throws Exception {
    try (SSLSocket socket = connected(listener)) {
      return socket.getSession().getPeerPrincipal().getName();
    }
  }

  private static SSLSocket connected(InetSocketAddress listener) throws Exception {
    ReloadingTls client =
        new ReloadingTls(
            new TlsFiles(
                null, null, Path.of(certificates.certificate("ca")), Verification.HOST, Duration.ofMinutes(1)),
            NanoClock.SYSTEM);
    return (SSLSocket) client.context().getSocketFactory().createSocket(listener.getAddress(), listener.getPort());
  }
}
