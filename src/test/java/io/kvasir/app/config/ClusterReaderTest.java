package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.Certificates;
import io.kvasir.peer.PeerSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

public final class ClusterReaderTest {
  /** For bodies of 32 MiB and blocks of 16 tokens. */
  private static final int LONGEST = 9 * (32 << 20) / 16 + (1 << 20);

  private static final String REACHABLE = "management.host = 0.0.0.0, cluster { host = 10.0.0.1, port = 7355 }\n";

  @TempDir private static Path directory = Path.of("");
  private static Certificates made = new Certificates(directory);

  @BeforeAll
  static void make() throws Exception {
    made = new Certificates(directory).authority("ca").authority("other").node("n", "ca").expired("old", "ca");
  }

  @Test
  void seeds_onLoopback_aloneAreFine() throws Exception {
    Config platform = platform("cluster { port = 7355, seed-nodes = [\"127.0.0.1:7355\", \"127.0.0.1:7356\"] }");
    assertThat(platform.getStringList("pekko.cluster.seed-nodes"))
        .containsExactly("pekko://kvasir@127.0.0.1:7355", "pekko://kvasir@127.0.0.1:7356");
  }

  @Test
  void managementPort_isNamedToThePlatform_whichLooksNoNameUp() throws Exception {
    assertThat(platform("management.port = 0").getString("pekko.management.http.hostname")).isEqualTo("127.0.0.1");
    assertThat(platform(REACHABLE).getString("pekko.management.http.hostname")).isEqualTo("10.0.0.1");
  }

  @Test
  void seeds_elsewhere_whileThisNodeIsOnLoopback_isAFault() {
    assertThat(faults("cluster { port = 7355, seed-nodes = [\"10.0.0.1:7355\", \"10.0.0.2:7355\"] }"))
        .singleElement()
        .satisfies(
            fault -> {
              assertThat(fault.path()).isEqualTo("kvasir.cluster.host");
              assertThat(fault.problem()).contains("127.0.0.1", "10.0.0.2", "address of this machine");
            });
  }

  @Test
  void seeds_someOnLoopback_isAFault() {
    assertThat(
            faults("cluster { host = 10.0.0.1, port = 7355, seed-nodes = [\"localhost:7355\", \"10.0.0.2:7355\"] }"))
        .extracting(ConfigFault::path)
        .containsExactly("kvasir.cluster.seed-nodes");
  }

  @Test
  void host_thatStandsForSeveral_isAFault() {
    assertThat(faults("cluster.host = 0.0.0.0")).extracting(ConfigFault::path).containsExactly("kvasir.cluster.host");
  }

  @Test
  void lines_areAtAndFromTheAddressesOfRemoting() throws Exception {
    assertThat(lines("kvasir.cluster.line-port = 7356"))
        .isEqualTo(new PeerSettings("127.0.0.1", 7356, 7356, "", LONGEST));
    assertThat(
            lines(
                """
                kvasir.cluster { host = 10.0.0.1, line-port = 7356, line-bind-port = 17356 }
                pekko.remote.artery.bind.hostname = 172.17.0.2
                pekko.remote.artery.advanced.tcp.outbound-client-hostname = 172.17.0.3
                """))
        .isEqualTo(new PeerSettings("172.17.0.2", 17356, 7356, "172.17.0.3", LONGEST));
  }

  /** A prompt as long as a body may be, in the smallest blocks of any model, has a hash of nine bytes for each. */
  @Test
  void lines_carryTheLongestPrompt() throws Exception {
    assertThat(
            lines(
                """
                kvasir.gateway.max-body = 100 MiB
                kvasir.models = [
                  { name = a, mode = text, block-size = 64 }, { name = b, mode = text, block-size = 8 }
                ]
                """)
                .maxLength())
        .isBetween(9 * (100 << 20) / 8, 9 * (100 << 20) / 8 + (1 << 20));
    assertThat(lines("kvasir.gateway.max-body = 1 GiB, kvasir.model-defaults.block-size = 1").maxLength())
        .as("bounded all the same")
        .isEqualTo(256 << 20);
  }

  @Test
  void lineBindPort_withoutAPortInFrontOfIt_isAFault() {
    assertThat(faults("cluster.line-bind-port = 7356"))
        .extracting(ConfigFault::path)
        .containsExactly("kvasir.cluster.line-bind-port");
  }

  @Test
  void dns_onTheDefaults_saysEverythingThatIsMissing() {
    assertThat(faults("cluster { discovery = dns, seed-nodes = [\"127.0.0.1:1\"] }, management.port = 0"))
        .extracting(ConfigFault::path)
        .containsExactlyInAnyOrder(
            "kvasir.cluster.host",
            "kvasir.cluster.port",
            "kvasir.cluster.port",
            "kvasir.cluster.discovery",
            "kvasir.cluster.discovery",
            "kvasir.cluster.seed-nodes",
            "kvasir.cluster.dns.name");
  }

  /** It would form a second cluster beside others that are slow to answer. */
  @Test
  void seeds_theFirstOfThemWaitsLongerForTheOthers() throws Exception {
    String seeds = "seed-nodes = [\"127.0.0.1:7355\", \"127.0.0.1:7356\"]";
    assertThat(platform("cluster { port = 7355, " + seeds + " }").getDuration("pekko.cluster.seed-node-timeout"))
        .isEqualTo(Duration.ofSeconds(20));
    assertThat(platform("cluster { port = 7356, " + seeds + " }").getDuration("pekko.cluster.seed-node-timeout"))
        .isEqualTo(Duration.ofSeconds(5));
  }

  @Test
  void dns_reachable() throws Exception {
    Config platform =
        platform(REACHABLE + "cluster { discovery = dns, required-nodes = 3, dns { name = kvasir.example } }");
    Config bootstrap = platform.getConfig("pekko.management.cluster.bootstrap.contact-point-discovery");
    assertThat(bootstrap.getString("discovery-method")).isEqualTo("pekko-dns");
    assertThat(bootstrap.getString("effective-name")).isEqualTo("kvasir.example");
    assertThat(bootstrap.getInt("required-contact-point-nr")).isEqualTo(3);
    assertThat(platform.getString("pekko.management.http.hostname")).isEqualTo("10.0.0.1");
  }

  @Test
  void kubernetes_reachable() throws Exception {
    Config platform = platform(REACHABLE + "cluster.discovery = kubernetes");
    assertThat(platform.getString("pekko.discovery.kubernetes-api.pod-label-selector")).isEqualTo("app=kvasir");
    assertThat(platform.getString("pekko.discovery.kubernetes-api.api-token-path")).endsWith("/serviceaccount/token");
  }

  @Test
  void discovery_withManagementTls_isOfCertificatesThatNodesAcceptOfEachOther() throws Exception {
    String discovery = REACHABLE + "cluster { discovery = dns, dns.name = kvasir.example }\n";
    assertThat(platform(discovery + managementTls("")).getString("pekko.management.http.hostname"))
        .isEqualTo("10.0.0.1");
    assertThat(platform(discovery + managementTls("ca")).getString("pekko.management.http.hostname"))
        .isEqualTo("10.0.0.1");
    assertThat(faults(discovery + managementTls("other")))
        .singleElement()
        .satisfies(
            fault -> {
              assertThat(fault.path()).isEqualTo("kvasir.cluster.discovery");
              assertThat(fault.problem()).contains("management.tls.client-authority", "for servers and for clients");
            });
    assertThat(platform(managementTls("other")).getStringList("pekko.cluster.seed-nodes"))
        .as("no contact by management")
        .isEmpty();
  }

  @Test
  void discovery_unknown_isAFault() {
    assertThat(faults("cluster.discovery = zookeeper"))
        .singleElement()
        .extracting(ConfigFault::problem)
        .asString()
        .contains("seeds, dns, kubernetes");
  }

  @Test
  void tls_ofFilesThatFit_isOn() throws Exception {
    Config platform = platform(tls(made.certificate("n"), made.key("n"), made.certificate("ca")));
    assertThat(platform.getString("pekko.remote.artery.transport")).isEqualTo("tls-tcp");
  }

  @Test
  void tls_filesThatDoNotFit_areToldInPlainWords() throws Exception {
    assertThat(faults(tls(made.certificate("n"), made.key("old"), made.certificate("other"))))
        .extracting(ConfigFault::problem)
        .satisfiesExactlyInAnyOrder(
            problem -> assertThat(problem).contains("n.crt was not issued by the authority (CN=other), but by CN=ca"),
            problem -> assertThat(problem).contains("old.key is not the key of", "n.crt"));
    assertThat(faults(tls(made.certificate("old"), made.key("old"), made.certificate("ca"))))
        .singleElement()
        .extracting(ConfigFault::problem)
        .asString()
        .contains("old.crt has expired");
    assertThat(faults(tls("no-such.crt", made.certificate("n"), "")))
        .extracting(ConfigFault::path, ConfigFault::problem)
        .satisfiesExactlyInAnyOrder(
            fault -> assertThat(fault.toString()).contains("tls.certificate", "no-such.crt cannot be read"),
            fault -> assertThat(fault.toString()).contains("tls.key", "no RSA private key"),
            fault -> assertThat(fault.toString()).contains("tls.authority", "is missing"));
  }

  public static String tls(String certificate, String key, String authority) {
    return "cluster.tls { certificate = \"%s\", key = \"%s\", authority = \"%s\" }\n"
        .formatted(certificate, key, authority);
  }

  private static String managementTls(String clientAuthority) {
    return "management.tls { certificate = \"%s\", key = \"%s\", client-authority = \"%s\" }\n"
        .formatted(
            made.certificate("n"), made.key("n"), clientAuthority.isEmpty() ? "" : made.certificate(clientAuthority));
  }

  private static Config platform(String own) throws ConfigException {
    return KvasirConfig.of(ConfigFactory.parseString("kvasir {\n" + own + "\n}")).source().platform();
  }

  private static PeerSettings lines(String everything) throws ConfigException {
    return KvasirConfig.of(ConfigFactory.parseString(everything)).cluster().peers();
  }

  private static List<ConfigFault> faults(String own) {
    ConfigException thrown = catchThrowableOfType(ConfigException.class, () -> platform(own));
    assertThat(thrown).as("the configuration has faults").isNotNull();
    return thrown.faults();
  }
}
