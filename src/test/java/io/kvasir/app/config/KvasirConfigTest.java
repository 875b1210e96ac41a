package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigParseOptions;
import io.kvasir.answers.AnswerSettings;
import io.kvasir.app.Certificates;
import io.kvasir.cell.PodSpec;
import io.kvasir.discovery.PoolSettings;
import io.kvasir.engines.TransferDescription;
import io.kvasir.events.EventFeed;
import io.kvasir.http.TlsFiles;
import io.kvasir.http.client.PodKeys;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KvasirConfigTest {
  @TempDir private Path directory = Path.of("");

  @Test
  void load_empty_isTheDefaults() throws Exception {
    KvasirConfig config = KvasirConfig.load(write(""));
    assertThat(config.gateway().http().port()).isEqualTo(8080);
    assertThat(config.operations().management().port()).isEqualTo(7626);
    assertThat(config.routing().profile()).isEqualTo("expected-cost");
    assertThat(
            RoutingReader.reloadable(
                    config.source().platform(), BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths()))
                .profiles()
                .byName())
        .containsKeys("expected-cost", "prefix-aware", "least-loaded", "round-robin", "random");
    assertThat(config.fleet().pods()).isEmpty();
  }

  @Test
  void load_fiveFaults_allReportedWithTheirLines() throws Exception {
    List<ConfigFault> faults =
        faults(
            """
            kvasir {
              gateway.port = 99999
              gateway.max-bdy = 1 MiB
              routing.profile = "expected-costs"
              cell.slots = 100
              pods = [{ name = "a", url = "ftp://x", models = ["m"] }]
            }
            """);
    assertThat(faults)
        .extracting(ConfigFault::path)
        .containsExactlyInAnyOrder(
            "kvasir.gateway.port",
            "kvasir.gateway.max-bdy",
            "kvasir.routing.profile",
            "kvasir.cell.slots",
            "kvasir.pods[0].url");
    assertThat(faults).extracting(ConfigFault::place).allSatisfy(place -> {
      assertThat(place.file()).endsWith("test.conf");
      assertThat(place.line()).isBetween(2, 6);
    });
    assertThat(faults)
        .filteredOn(fault -> fault.path().endsWith("max-bdy"))
        .singleElement()
        .extracting(ConfigFault::problem)
        .asString()
        .contains("did you mean 'max-body'");
  }

  @Test
  void load_answers_areOff_orWhatIsWritten() throws Exception {
    assertThat(KvasirConfig.load(write("")).execution().answers()).isNull();
    AnswerSettings settings =
        Objects.requireNonNull(
            KvasirConfig.load(
                    write(
                        """
                        kvasir.answers {
                          store = redis, ttl = 5 m, ignored-fields = [user], shared.enabled = true
                          redis { url = "rediss://cache:7000/2", password = secret }
                        }
                        """))
                .execution()
                .answers());
    assertThat(settings.ttl()).isEqualTo(Duration.ofMinutes(5));
    assertThat(settings.sharing().enabled()).isTrue();
    assertThat(settings.store())
        .isInstanceOfSatisfying(
            AnswerSettings.StoreSettings.Redis.class,
            redis -> {
              assertThat(redis.url()).hasToString("rediss://cache:7000/2");
              assertThat(redis.password()).isEqualTo("secret");
            });
  }

  @Test
  void load_answersWithFaults_areReportedTogether_evenWhenOff() throws Exception {
    assertThat(
            faults(
                """
                kvasir.answers {
                  store = off, max-entry = 300 MiB, ignored-fields = [messages], tll = 1 h
                  redis { url = "http://cache", timeout = 2 m, authorities = "/no/such/file" }
                  memory.bytes = 1 GiB
                }
                """))
        .extracting(ConfigFault::path)
        .contains(
            "kvasir.answers.recording",
            "kvasir.answers.ignored-fields",
            "kvasir.answers.tll",
            "kvasir.answers.redis.url",
            "kvasir.answers.redis.timeout",
            "kvasir.answers.redis.authorities",
            "kvasir.answers.memory.bytes");
  }

  @Test
  void load_podWithoutModels_leavesThemToItsEngine() throws Exception {
    KvasirConfig.FleetConfig fleet =
        KvasirConfig.of(
                ConfigFactory.parseString(
                    """
                    kvasir.pods = [
                      { url = "http://h:1", ranks = 2, api-key = secret }
                      { name = a, url = "http://h:2", models = [m] }
                    ]
                    """))
            .fleet();
    assertThat(fleet.pods()).extracting(PodSpec::name).containsExactly("a");
    assertThat(fleet.discovery().bare()).singleElement().satisfies(pod -> {
      assertThat(pod.url()).isEqualTo(URI.create("http://h:1"));
      assertThat(pod.described().root().unwrapped()).isEqualTo(Map.of("url", "http://h:1", "ranks", 2));
    });
  }

  @Test
  void load_podWithoutModels_hasItsFaultsToldAtTheStart() throws Exception {
    assertThat(faults("kvasir.pods = [{ url = \"http://h:1/x\", ranks = 0, model = m }, { models = [m] }]"))
        .extracting(ConfigFault::path)
        .containsExactlyInAnyOrder(
            "kvasir.pods[0].url", "kvasir.pods[0].ranks", "kvasir.pods[0].model", "kvasir.pods[1].name",
            "kvasir.pods[1].url");
  }

  @Test
  void load_podsOfTheSameName_isAFault() throws Exception {
    assertThat(
            faults(
                """
                kvasir.pods = [
                  { name = a, url = "http://h:1", models = [m] }
                  { name = a, url = "http://h:2", models = [m] }
                ]
                """))
        .singleElement()
        .extracting(ConfigFault::path)
        .isEqualTo("kvasir.pods[1].name");
  }

  @Test
  void load_eventsOfEnginesThatConnect_needOneSettingForAll() throws Exception {
    KvasirConfig config = KvasirConfig.load(write("""
        kvasir {
          events-defaults.zmq { endpoint = "tcp://*:5557", bind = true, topic = "kv@{address}@" }
          pods = [
            { name = a, url = "http://a:1", models = [m], events {} }
            { name = b, url = "http://b:1", models = [m], events {} }
          ]
        }
        """));

    assertThat(config.fleet().pods())
        .extracting(PodSpec::events)
        .containsOnly(List.of(new EventFeed.Zmq("tcp://*:5557", null, "kv@{address}@", true)))
        .hasSize(2);
  }

  @Test
  void load_podKeys_areThePodsOrThoseOfAll() throws Exception {
    Path file = Files.writeString(directory.resolve("key"), "from-file\n");
    KvasirConfig config = KvasirConfig.load(write("""
        kvasir {
          pod-defaults.api-key = all
          pods = [
            { name = a, url = "http://a:1", models = [m], api-key = own }
            { name = b, url = "http://b:1", models = [m], api-key = "", api-key-file = "%s" }
            { name = c, url = "http://c:1", models = [m] }
          ]
        }
        """.formatted(file)));

    PodKeys keys = config.fleet().podKeys();
    assertThat(keys.of(URI.create("http://a:1"))).isEqualTo("own");
    assertThat(keys.of(URI.create("http://b:1"))).isEqualTo("from-file");
    assertThat(keys.of(URI.create("http://c:1"))).isEqualTo("all");
  }

  @Test
  void load_podKeysWithFaults_areReported() throws Exception {
    assertThat(faults("""
        kvasir.pods = [
          { name = a, url = "http://a:1", models = [m], api-key = "two words" }
          { name = b, url = "http://b:1", models = [m], api-key-file = "/nowhere/key" }
          { name = c, url = "http://c:1", models = [m], api-key = x, api-key-file = y }
        ]
        """)).map(ConfigFault::path).containsExactlyInAnyOrder(
            "kvasir.pods[0].api-key", "kvasir.pods[1].api-key-file", "kvasir.pods[2].api-key-file");
  }

  @Test
  void podsReader_takesNoKeys() throws Exception {
    List<String> faults = new ArrayList<>();
    KvasirConfig.load(write("")).fleet().podsReader().read(
        ConfigFactory.parseString("pods = [{ name = a, url = \"http://a:1\", models = [m], api-key = secret }]"),
        faults::add);

    assertThat(faults).singleElement().asString().contains("pods[0].api-key", "pod-defaults").doesNotContain("secret");
  }

  @Test
  void load_pod_isLaidOverTheDefaults() throws Exception {
    KvasirConfig config =
        KvasirConfig.load(
            write(
                """
                kvasir {
                  models = [{ name = m, directory = "bundled:kvasir-demo", block-size = 32 }]
                  pod-defaults.max-in-flight = 7
                  pods = [{ name = a, url = "http://h:1/", models = [m], events.endpoint = "tcp://h:5557" }]
                }
                """));
    assertThat(config.fleet().pods())
        .singleElement()
        .satisfies(
            pod -> {
              assertThat(pod.engine().blockSize()).isEqualTo(32);
              assertThat(pod.engine().maxInFlight()).isEqualTo(7);
              assertThat(pod.url()).hasToString("http://h:1");
              assertThat(pod.events()).isNotNull();
            });
  }

  @Test
  void load_portOfGrpc_isWhereTheEngineIsAsked_andAPort() throws Exception {
    KvasirConfig config = KvasirConfig.load(write("kvasir.pods = [{ url = \"http://h:1\", grpc-port = 50051 }]"));
    assertThat(config.fleet().discovery().bare()).singleElement()
        .satisfies(pod -> assertThat(pod.described().getInt("grpc-port")).isEqualTo(50_051));
    Path wrong = write("kvasir.pods = [{ url = \"http://h:1\", grpc-port = 70000 }]");
    assertThat(catchThrowableOfType(ConfigException.class, () -> KvasirConfig.load(wrong)).faults())
        .singleElement().asString().contains("pods[0].grpc-port");
  }

  @Test
  void load_kvTransfer_isLaidOverTheDefaults() throws Exception {
    KvasirConfig config =
        KvasirConfig.load(
            write(
                """
            kvasir {
              pod-defaults.kv-transfer { dialect = sglang, group = east }
              pods = [
                { name = p, url = "http://p.test:1", models = [m], role = prefill, kv-transfer.link.us-per-token = 3 }
                { name = d, url = "http://d.test:1", models = [m], role = decode, kv-transfer.bootstrap-port = 9 }
                { name = w, url = "http://w.test:1", models = [m], kv-transfer.dialect = none }
              ]
            }
            """));
    assertThat(config.fleet().pods())
        .extracting(PodSpec::kvTransfer)
        .containsExactly(
            new KvTransfer(Dialect.SGLANG, "east", "p.test", 8998, "", 1, 1, new KvTransfer.TransferCost(3, 5)),
            new KvTransfer(Dialect.SGLANG, "east", "d.test", 9, "", 1, 1, new KvTransfer.TransferCost(6, 5)),
            null);
  }

  @Test
  void load_podsWhoseEnginesAreAsked_mayHaveARoleAlone() throws Exception {
    KvasirConfig config =
        KvasirConfig.load(
            write(
                """
                kvasir.pods = [
                  { url = "http://h:1", role = prefill }
                  { url = "http://h:2", role = decode }
                  { url = "http://h:3" }
                ]
                """));
    assertThat(config.fleet().discovery().bare()).extracting(pod -> pod.address().role())
        .containsExactly(TransferDescription.Role.PREFILL, TransferDescription.Role.DECODE, null);
  }

  @Test
  void load_podsThatCannotWorkTogether_areFaults() throws Exception {
    assertThat(
            faults(
                """
                kvasir.pods = [
                  { name = a, url = "http://h:1", models = [m], role = prefill }
                  { name = b, url = "http://h:2", models = [m], role = decode, kv-transfer.dialect = sglang }
                  { name = c, url = "http://h:3", models = [m], role = prefill, kv-transfer.dialect = vllm-nixl }
                  { name = d, url = "http://h:4", models = [m], role = prefill, kv-transfer.dialect = vllm-push }
                  { name = e, url = "http://h:5", models = [m], role = prefill
                    kv-transfer { dialect = sglang, group = "2" } }
                  { name = f, url = "http://h:6", models = [m], role = prefill, kv-transfer.dialect = sglang }
                  { name = g, url = "http://h:7", models = [n], role = prefill, kv-transfer.dialect = vllm-nixl }
                ]
                """))
        .extracting(ConfigFault::path)
        .containsExactlyInAnyOrder(
            "kvasir.pods[0].kv-transfer.dialect",
            "kvasir.pods[2].kv-transfer",
            "kvasir.pods[3].kv-transfer",
            "kvasir.pods[3].kv-transfer.engine-id",
            "kvasir.pods[4].kv-transfer");
  }

  @Test
  void load_seedNodesWithoutAPort_isAFault() throws Exception {
    assertThat(faults("kvasir.cluster.seed-nodes = [\"127.0.0.1:7355\", \"nonsense\"]"))
        .extracting(ConfigFault::path)
        .containsExactlyInAnyOrder("kvasir.cluster.port", "kvasir.cluster.seed-nodes");
  }

  @Test
  void load_onePortForSeveralListeners_isAFaultOfEachButTheFirst() throws Exception {
    assertThat(
            faults(
                """
                kvasir {
                  gateway.port = 9000
                  management { host = "0.0.0.0", port = 9000 }
                  cluster { port = 9001, line-port = 9000 }
                  picker { enabled = true, port = 9001, health-port = 9003 }
                  scale.keda { enabled = true, port = 9003 }
                }"""))
        .extracting(ConfigFault::path)
        .containsExactlyInAnyOrder(
            "kvasir.management.port", "kvasir.cluster.line-port", "kvasir.picker.port", "kvasir.scale.keda.port");
    assertThat(faults("kvasir.management.port = 8080"))
        .singleElement()
        .extracting(ConfigFault::problem)
        .isEqualTo("is 8080, which is also kvasir.gateway.port; choose another");
  }

  @Test
  void load_onePortOfSeveralAddresses_orAnyFreeOne_isNone() throws Exception {
    Path file =
        write("kvasir { gateway { host = 127.0.0.1, port = 9000 }, management { host = 127.0.0.2, port = 9000 } }");
    assertThat(KvasirConfig.load(file).operations().management().port()).isEqualTo(9000);
    Path free = write("kvasir { gateway.port = 0, management.port = 0 }");
    assertThat(KvasirConfig.load(free).gateway().http().port()).isZero();
  }

  /** A list from elsewhere is read as the configuration's own, and tells its faults with their lines. */
  @Test
  void podsReader_readsListsFromElsewhere() throws Exception {
    KvasirConfig config = KvasirConfig.load(write("kvasir.pod-defaults.max-in-flight = 7"));
    Path file = directory.resolve("pods.conf");
    Files.writeString(file, "pods = [\n{ name = a, url = \"http://h:1\", models = [m], draining = true }\n]");
    List<String> faults = new ArrayList<>();
    assertThat(config.fleet().podsReader().read(ConfigFactory.parseFile(file.toFile()), faults::add))
        .singleElement()
        .satisfies(
            pod -> {
              assertThat(pod.spec().engine().maxInFlight()).isEqualTo(7);
              assertThat(pod.withheld()).isTrue();
            });
    assertThat(faults).isEmpty();

    String wrong = "[\n{ name = a, url = \"ftp://h\", models = [m] },\n{ name = b, colour = red }]";
    config.fleet().podsReader().read(
        ConfigFactory.parseString(
            "pods = " + wrong, ConfigParseOptions.defaults().setOriginDescription("dir/pods.json")),
        faults::add);
    assertThat(faults)
        .anySatisfy(fault -> assertThat(fault).startsWith("dir/pods.json:2: pods[0].url"))
        .anySatisfy(fault -> assertThat(fault).startsWith("dir/pods.json:3: pods[1].colour"))
        .anySatisfy(fault -> assertThat(fault).startsWith("dir/pods.json:3: pods[1].models: is missing"));
  }

  @Test
  void load_podsFromKubernetes_outsideIt_saysWhatIsMissing() throws Exception {
    assertThat(faults("kvasir.pods-from.kubernetes { selector = \"app=vllm\", api = \"https://10.0.0.1\" }"))
        .extracting(ConfigFault::path)
        .containsExactlyInAnyOrder(
            "kvasir.pods-from.kubernetes.authority", "kvasir.pods-from.kubernetes.namespace");
  }

  @Test
  void load_poolsOfKubernetes_areOfNamedNamespacesOrOfAll() throws Exception {
    String api = "kvasir.pods-from.kubernetes { api = \"http://10.0.0.1\", namespace = n, pools.namespaces = ";
    PoolSettings all = pools(KvasirConfig.of(ConfigFactory.parseString(api + "[\"*\"] }")));
    assertThat(all.namespaces()).containsExactly("");
    assertThat(all.writesStatus()).isTrue();
    assertThat(pools(KvasirConfig.of(ConfigFactory.parseString(api + "[a, b] }"))).namespaces())
        .containsExactly("a", "b");
    assertThat(faults(api + "[a, \"*\", \"\"] }")).extracting(ConfigFault::path)
        .containsOnly("kvasir.pods-from.kubernetes.pools.namespaces").hasSize(2);
    assertThat(faults("kvasir.pods-from.kubernetes.pools.namespaces = [a]"))
        .as("outside Kubernetes").isNotEmpty();
  }

  private static PoolSettings pools(KvasirConfig config) {
    return Objects.requireNonNull(Objects.requireNonNull(config.fleet().discovery().kubernetes()).pools());
  }

  @Test
  void load_notHocon_saysWhere() throws Exception {
    assertThat(faults("kvasir { gateway {"))
        .singleElement()
        .extracting(ConfigFault::problem)
        .asString()
        .contains("test.conf");
  }

  /** As it is written beside {@code --config router.conf}. */
  @Test
  void load_fileWithoutADirectory_findsWhatItIncludes() throws Exception {
    Path here = Path.of("");
    Path included = Files.createTempFile(here, "included", ".conf");
    Path file = Files.createTempFile(here, "test", ".conf");
    try {
      Files.writeString(included, "kvasir.gateway.port = 1234");
      Files.writeString(file, "include required(\"" + included.getFileName() + "\")");

      assertThat(KvasirConfig.load(file).gateway().http().port()).isEqualTo(1234);
    } finally {
      Files.delete(file);
      Files.delete(included);
    }
  }

  @Test
  void load_noFile_saysSo() {
    ConfigException thrown =
        catchThrowableOfType(ConfigException.class, () -> KvasirConfig.load(directory.resolve("none.conf")));
    assertThat(thrown).hasMessageContaining("none.conf");
  }

  @Test
  void load_faultyProfile_isReportedBesideTheRest() throws Exception {
    assertThat(
            faults(
                """
                kvasir {
                  gateway.port = -1
                  routing.profiles.mine { scorers = [{ plugin = "expected-cots" }] }
                }
                """))
        .extracting(ConfigFault::path)
        .contains("kvasir.gateway.port", "kvasir.routing.profiles.mine");
  }

  @Test
  void load_adminKeys_areAListOrOne_andLong() throws Exception {
    assertThat(KvasirConfig.load(write("")).operations().management().keys().isRequired()).isFalse();
    String key = "0123456789abcdef";
    Path file = Files.writeString(directory.resolve("keys"), key + "\n");
    for (String keys :
        List.of("admin-keys = \"%s\"".formatted(key), "admin-keys = [\"%s\", \"x%s\"]".formatted(key, key),
            "admin-key-file = \"%s\"".formatted(file))) {
      KvasirConfig keyed = KvasirConfig.load(write("kvasir.management { " + keys + " }"));
      assertThat(keyed.operations().management().keys().isRequired())
          .isTrue();
    }
    Files.writeString(file, "# none yet\n");
    assertThat(faults("kvasir.management { admin-keys = [short], admin-key-file = \"%s\" }".formatted(file)))
        .extracting(ConfigFault::path)
        .containsExactly("kvasir.management.admin-keys", "kvasir.management.admin-key-file");
    assertThat(faults("kvasir.management.admin-keys = [short]").getFirst().problem()).doesNotContain("short");
    assertThat(faults("kvasir.management.admin-key-file = nowhere")).singleElement()
        .extracting(ConfigFault::problem).asString().contains("cannot be read");
  }

  @Test
  void load_tlsFiles_areChecked() throws Exception {
    Certificates made =
        new Certificates(directory).authority("ca").server("a", "ca").server("b", "ca").expired("old", "ca");
    KvasirConfig config =
        KvasirConfig.load(
            write(
                """
                kvasir {
                  gateway.tls { certificate = "%s", key = "%s", client-authority = "%s" }
                  execution.tls { insecure = true }
                }
                """
                    .formatted(made.certificate("a"), made.key("a"), made.certificate("ca"))));
    TlsFiles listener = Objects.requireNonNull(config.gateway().tls());
    assertThat(listener.authorities()).isEqualTo(Path.of(made.certificate("ca")));
    assertThat(Objects.requireNonNull(config.execution().tls()).verification())
        .isEqualTo(TlsFiles.Verification.NONE);
    assertThat(KvasirConfig.load(write("")).gateway().tls()).isNull();
    assertThat(KvasirConfig.load(write("")).execution().tls()).isNull();

    assertThat(
            faults(
                """
                kvasir {
                  gateway.tls { certificate = "%s", key = "%s" }
                  execution.tls { certificate = "%s", authority = "%s", insecure = true }
                }
                """
                    .formatted(
                        made.certificate("a"), made.key("b"), made.certificate("old"), directory.resolve("none.pem"))))
        .extracting(ConfigFault::path)
        .containsExactlyInAnyOrder(
            "kvasir.gateway.tls.key", "kvasir.execution.tls.key", "kvasir.execution.tls.authority",
            "kvasir.execution.tls.insecure");
    assertThat(faults(
            "kvasir.management.tls { certificate = \"%s\", key = \"%s\" }"
                .formatted(made.certificate("a"), made.key("b"))))
        .extracting(ConfigFault::path)
        .containsExactly("kvasir.management.tls.key");
    assertThat(faults("kvasir.gateway.tls.client-authority = \"%s\"".formatted(made.certificate("ca"))))
        .singleElement()
        .extracting(ConfigFault::problem)
        .asString()
        .contains("certificate and key");
  }

  private List<ConfigFault> faults(String text) throws IOException {
    Path file = write(text);
    return catchThrowableOfType(ConfigException.class, () -> KvasirConfig.load(file)).faults();
  }

  private Path write(String text) throws IOException {
    return Files.writeString(directory.resolve("test.conf"), text);
  }
}
