package io.kvasir.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.http.ReloadingTls;
import io.kvasir.http.TlsFiles;
import io.kvasir.http.TlsFiles.Verification;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.load.Ports;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import io.kvasir.time.NanoClock;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code kvasir init} beside engines of every kind. */
final class InitIT {
  @TempDir private Path directory = Path.of("");

  @Test
  void vllmThatTellsAll_isWrittenAndValid() throws Exception {
    try (SimEngine engine =
        SimEngine.start(settings().developerMode(true).ranks(2).loras(List.of("sql")).build())) {
      Path file = directory.resolve("my.conf");
      TestCommand init = init("--out", file.toString(), engine.url().toString());
      assertThat(init.status()).as(init.err()).isZero();
      assertThat(init.out()).contains("vllm-0: vLLM 0.32.0", engine.eventsEndpoint(), "kvasir serve --config " + file);
      TestCommand validated = TestCommand.run("validate", "--config", file.toString());
      assertThat(validated.status()).as(validated.err()).isZero();

      Config written = ConfigFactory.parseFile(file.toFile()).getConfig("kvasir");
      Config model = written.getConfigList("models").getFirst();
      assertThat(model.getString("directory")).isEqualTo("bundled:kvasir-demo");
      assertThat(model.getInt("block-size")).isEqualTo(32);
      assertThat(model.getStringList("loras")).containsExactly("sql");
      Config pod = written.getConfigList("pods").getFirst();
      assertThat(pod.getString("url")).isEqualTo(engine.url().toString());
      assertThat(pod.getStringList("models")).containsExactly("kvasir-demo", "sql");
      assertThat(pod.getInt("ranks")).isEqualTo(2);
      assertThat(pod.getInt("capacity-blocks")).isEqualTo(500);
      assertThat(pod.getString("events.endpoint")).isEqualTo(engine.eventsEndpoint());
      assertThat(pod.getString("events.replay")).isEqualTo(engine.replayEndpoint());
    }
  }

  @Test
  void keysBesideTheConfiguration_areThoseOfItsClients() throws Exception {
    try (SimEngine engine = SimEngine.start(settings().build())) {
      Path keys = directory.resolve("keys.json");
      TestCommand made = TestCommand.run("keys", "create", "me", "--tenant", "me", "--file", keys.toString());
      assertThat(made.status()).as(made.err()).isZero();
      Path file = directory.resolve("my.conf");
      TestCommand init = init("--out", file.toString(), engine.url().toString());
      assertThat(init.status()).as(init.err()).isZero();
      Config written = ConfigFactory.parseFile(file.toFile()).getConfig("kvasir");
      assertThat(written.getString("access.keys-file")).isEqualTo(keys.toString());
      TestCommand validated = TestCommand.run("validate", "--config", file.toString());
      assertThat(validated.status()).as(validated.err()).isZero();

      assertThat(init(engine.url().toString()).out()).contains("# access.keys-file");
    }
  }

  @Test
  void whatVllmDoesNotTell_isThereAsACommentWithTheFlag() throws Exception {
    try (SimEngine engine = SimEngine.start(settings().build())) {
      String written = init(engine.url().toString()).out();
      assertThat(pod(written, 0).getString("events.endpoint")).isEqualTo(engine.eventsEndpoint());
      assertThat(words(written))
          .contains("# Cache events: told by the engine.")
          .contains("# Not told: usage of cached tokens.", "--enable-prompt-tokens-details")
          .contains("# Not told: role and connector.", "VLLM_SERVER_DEV_MODE=1");
    }
  }

  @Test
  void vllmThatTellsOverGrpc_isWritten_withWhereItTold() throws Exception {
    try (SimEngine engine = SimEngine.start(settings().grpcPort(0).build())) {
      String url = engine.url().toString();
      TestCommand asked = init(url + ",grpc-port=" + engine.grpcPort());
      assertThat(asked.status()).as(asked.err()).isZero();
      assertThat(pod(asked.out(), 0).getString("events.endpoint")).isEqualTo(engine.eventsEndpoint());
      assertThat(words(asked.out()))
          .contains("# Cache events: told by the engine over gRPC at port " + engine.grpcPort() + ".");

      assertThat(words(init(url).out())).contains("give that as grpc-port, and it is asked there");
      TestCommand closed = init(url + ",grpc-port=" + Ports.free());
      assertThat(closed.status()).isEqualTo(1);
      assertThat(closed.err()).contains("is that its --grpc-port");
    }
  }

  @Test
  void engineAloneOnItsHost_withAPublisherAtTheDefaultPort_isAssumedToBeIt() throws Exception {
    String host = "127.0.77.1";
    assumeTrue(System.getProperty("os.name", "").equals("Linux"), "all of 127.0.0.0/8 is this machine");
    EventSettings events =
        new EventSettings(
            true, host, EventSettings.PubSettings.bound(5557), new EventSettings.ReplaySettings(false, 0, true, 0), "",
            EventSettings.DEFAULT.format());
    try (SimEngine engine =
        SimEngine.start(settings().api(EngineApi.LLM_D).host(host).ranks(2).events(events).build())) {
      String written = init(engine.url().toString()).out();
      assertThat(pod(written, 0).getString("events.endpoint")).isEqualTo("tcp://" + host + ":5557");
      assertThat(words(written)).contains("not told, but somebody publishes at the default endpoint");
      try (SimEngine second = SimEngine.start(settings().host(host).events(EventSettings.OFF).build())) {
        String both = init(engine.url().toString(), second.url().toString()).out();
        assertThat(pod(both, 0).hasPath("events")).isFalse();
        assertThat(words(both)).contains("other engines are on the same host");
      }
    }
  }

  @Test
  void tensorRtWithAPublisherAtTheDefaultPort_isListenedToForPlainPromptsOnly() throws Exception {
    String host = "127.0.77.2";
    assumeTrue(System.getProperty("os.name", "").equals("Linux"), "all of 127.0.0.0/8 is this machine");
    EventSettings events =
        new EventSettings(
            true, host, EventSettings.PubSettings.bound(5557), new EventSettings.ReplaySettings(true, 5657, true, 100),
            "", new EventFormat(EventFormat.Encoding.TENSORRT_LLM, false, false));
    try (SimEngine engine =
        SimEngine.start(settings().api(EngineApi.TENSORRT_LLM).host(host).events(events).build())) {
      String written = init(engine.url().toString()).out();
      assertThat(pod(written, 0).getString("events.endpoint")).isEqualTo("tcp://" + host + ":5557");
      assertThat(pod(written, 0).getBoolean("events.plain-only")).isTrue();
      assertThat(words(written)).contains("leave out adapters and salts", "replay = \"tcp://" + host + ":5657\"");
    }
  }

  @Test
  void sglangTensorRtAndOthers() throws Exception {
    try (SimEngine sglang =
            SimEngine.start(settings().api(EngineApi.SGLANG).cachedTokens(CachedTokensUsage.NEVER).build());
        SimEngine tensorRt = SimEngine.start(settings().api(EngineApi.TENSORRT_LLM).build());
        SimEngine simulator = SimEngine.start(settings().api(EngineApi.LLM_D).build())) {
      String written =
          init(sglang.url().toString(), tensorRt.url().toString(), simulator.url().toString()).out();
      assertThat(pod(written, 0).getString("name")).isEqualTo("sglang-0");
      assertThat(pod(written, 0).getString("events.endpoint")).isEqualTo(sglang.eventsEndpoint());
      assertThat(pod(written, 0).getBoolean("events.once-computed")).isTrue();
      assertThat(pod(written, 1).getString("name")).isEqualTo("tensorrt-0");
      assertThat(pod(written, 2).getString("name")).isEqualTo("llmd-sim-0");
      assertThat(words(written))
          .contains("--enable-cache-report", "# Not told: ranks. Set ranks of the pod", "It does not tell whether");
    }
  }

  @Test
  void loadThatIsPushed_orReadAlone_orNotAtAll_isToldWithWhatWouldServeBetter() throws Exception {
    try (SimEngine vllm = SimEngine.start(settings().build());
        SimEngine pushing = SimEngine.start(settings().api(EngineApi.SGLANG).ranks(2).loadPort(0).build());
        SimEngine sglang = SimEngine.start(settings().api(EngineApi.SGLANG).build());
        SimEngine tensorRt = SimEngine.start(settings().api(EngineApi.TENSORRT_LLM).build());
        ScriptedPod silent = new ScriptedPod((request, out) -> out.json(
            request.target().equals("/v1/models") ? 200 : 404,
            "{\"data\":[{\"id\":\"m\",\"owned_by\":\"sglang\"}]}"))) {
      assertThat(words(init(vllm.url().toString()).out())).contains("Load: read at /metrics/?name[]=");
      assertThat(words(init(pushing.url().toString()).out()))
          .containsPattern("Load: pushed by the engine at tcp://127.0.0.1:\\d+, tcp://127.0.0.1:\\d+, as its");
      assertThat(words(init(sglang.url().toString()).out()))
          .contains("Load: read at /v1/loads?include=core&format=prometheus, which has these gauges alone. With"
              + " --load-publish-endpoint auto");
      assertThat(words(init(tensorRt.url().toString()).out())).contains("Load: not told");
      assertThat(words(init(silent.url().toString()).out())).contains("Start it with --enable-metrics");
    }
  }

  /** Each tells its load only while the other is asked, too. */
  @Test
  void loadOfAllEngines_isAskedForTogether() throws Exception {
    CyclicBarrier both = new CyclicBarrier(2);
    ScriptedPod.Script script = (request, out) -> {
      switch (request.target().replaceFirst("\\?.*", "")) {
        case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}");
        case "/version" -> out.json(200, "{\"version\":\"0.33.0\"}");
        case "/metrics/" -> {
          both.await(60, TimeUnit.SECONDS);
          out.json(200, "vllm:num_requests_running{engine=\"0\"} 0.0\n");
        }
        default -> out.json(404, "{}");
      }
    };
    try (ScriptedPod one = new ScriptedPod(script);
        ScriptedPod other = new ScriptedPod(script)) {
      assertThat(words(init(one.url().toString(), other.url().toString()).out()).split("Load: read at /metrics/", -1))
          .hasSize(3);
    }
  }

  @Test
  void prefillAndDecode_goTogether_andNeitherAlone() throws Exception {
    SimSettings.Builder nixl =
        settings().developerMode(true).transfer(TransferSettings.of(TransferDialect.VLLM_NIXL));
    try (SimEngine prefill = SimEngine.start(nixl.role(Role.PREFILL).build());
        SimEngine decode = SimEngine.start(nixl.role(Role.DECODE).build())) {
      String written = init(prefill.url().toString(), decode.url().toString()).out();
      assertThat(ConfigFactory.parseString(written).getString("kvasir.routing.profile")).isEqualTo("prefill-decode");
      assertThat(pod(written, 0).getString("role")).isEqualTo("prefill");
      assertThat(pod(written, 1).getString("kv-transfer.dialect")).isEqualTo("vllm-nixl");
      TestCommand alone = init(prefill.url().toString());
      assertThat(alone.status()).isEqualTo(1);
      assertThat(alone.err()).contains("does prefill only", "give both kinds");
    }
  }

  @Test
  void rolesThatEnginesDoNotTell_areGivenBehindTheirUrls() throws Exception {
    SimSettings.Builder nixl = settings().transfer(TransferSettings.of(TransferDialect.VLLM_NIXL));
    try (SimEngine prefill = SimEngine.start(nixl.role(Role.PREFILL).build());
        SimEngine decode = SimEngine.start(nixl.role(Role.DECODE).build())) {
      String written = init(prefill.url() + ",role=prefill", decode.url() + ",role=decode").out();
      assertThat(ConfigFactory.parseString(written).getString("kvasir.routing.profile")).isEqualTo("prefill-decode");
      assertThat(pod(written, 0).getString("role")).isEqualTo("prefill");
      assertThat(pod(written, 1).getString("role")).isEqualTo("decode");
      assertThat(pod(written, 1).getString("kv-transfer.dialect")).isEqualTo("vllm-nixl");
      assertThat(words(written)).contains("Not told: connector. NixlConnector is assumed");
      assertThat(init(prefill.url().toString(), decode.url().toString()).out()).doesNotContain("role = prefill\n");
      assertThat(init(prefill.url() + ",role=encode").err()).contains("prefill or decode");
    }
  }

  @Test
  void enginesThatPullFromEachOther_areSaidTo() throws Exception {
    TransferSettings peers = TransferSettings.of(TransferDialect.VLLM_P2P).withAddress(Ports.free(), null);
    try (SimEngine engine = SimEngine.start(settings().developerMode(true).transfer(peers).build())) {
      String written = init(engine.url().toString()).out();
      assertThat(pod(written, 0).getString("kv-transfer.dialect")).isEqualTo("vllm-p2p");
      assertThat(pod(written, 0).getInt("kv-transfer.bootstrap-port")).isEqualTo(peers.port());
      assertThat(ConfigFactory.parseString(written).hasPath("kvasir.routing.profile")).isFalse();
    }
  }

  @Test
  void blocksThatDoNotFitIntoEachOther_cannotGoTogether() throws Exception {
    try (SimEngine small = SimEngine.start(settings().blockSize(16).build());
        SimEngine large = SimEngine.start(settings().blockSize(24).build())) {
      TestCommand both = init(small.url().toString(), large.url().toString());
      assertThat(both.status()).isEqualTo(1);
      assertThat(both.err()).contains("different sizes", "16=[" + small.url(), "24=[" + large.url(), "--block-size");
    }
  }

  @Test
  void blocksOfSeveralSizes_areCutIntoTheSmallest() throws Exception {
    try (SimEngine large = SimEngine.start(settings().blockSize(64).build());
        SimEngine small = SimEngine.start(settings().blockSize(16).build())) {
      String written = init(large.url().toString(), small.url().toString()).out();
      Config model = ConfigFactory.parseString(written).getConfigList("kvasir.models").getFirst();
      assertThat(model.getInt("block-size")).isEqualTo(16);
      assertThat(pod(written, 0).getInt("block-size")).isEqualTo(64);
      assertThat(pod(written, 1).hasPath("block-size")).isFalse();
    }
  }

  @Test
  void modelWhoseTokenizerIsElsewhere_isTokenisedByTheEngine() throws Exception {
    try (SimEngine engine = SimEngine.start(settings().model("acme/tiny").build())) {
      String written = init(engine.url().toString()).out();
      Config model = ConfigFactory.parseString(written).getConfigList("kvasir.models").getFirst();
      assertThat(model.getString("mode")).isEqualTo("engine");
      assertThat(words(written)).contains("vllm-0 is asked to tokenise each prompt");
    }
  }

  @Test
  void everyEngineThatCannotBeAsked_isTold_andNothingIsWritten() throws Exception {
    Path file = directory.resolve("none.conf");
    String nobody = "http://127.0.0.1:" + Ports.free();
    try (ScriptedPod locked = new ScriptedPod((request, out) -> out.json(401, "{}"))) {
      TestCommand init = init(nobody, locked.url().toString(), "--out", file.toString());
      assertThat(init.status()).isEqualTo(1);
      assertThat(init.err())
          .contains(nobody, "does the engine run", locked.url().toString(), "KVASIR_POD_API_KEY");
      assertThat(file).doesNotExist();
    }
    TestCommand malformed = init("10.0.0.5:8000", "http://a/x", nobody, nobody);
    assertThat(malformed.status()).isEqualTo(1);
    assertThat(malformed.err()).contains("'10.0.0.5:8000' is no URL", "has the path /x", nobody + " is there twice");
    assertThat(init().status()).isEqualTo(2);
  }

  @Test
  void engineWithACertificateOfAnUnknownAuthority_isTold_withTheSetting() throws Exception {
    Certificates made = new Certificates(directory).authority("ca").server("engine", "ca");
    Path certificate = Path.of(made.certificate("engine"));
    TlsFiles files =
        new TlsFiles(certificate, Path.of(made.key("engine")), null, Verification.HOST, Duration.ofDays(1));
    HttpsServer engine = HttpsServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    engine.setHttpsConfigurator(new HttpsConfigurator(new ReloadingTls(files, NanoClock.SYSTEM).context()));
    engine.start();
    try {
      TestCommand init = init("https://127.0.0.1:" + engine.getAddress().getPort());
      assertThat(init.status()).isEqualTo(1);
      assertThat(init.err()).contains("KVASIR_PODS_TLS_AUTHORITY");
    } finally {
      engine.stop(0);
    }
  }

  @Test
  void fileThatExists_isKept_unlessForced() throws Exception {
    Path file = directory.resolve("mine.conf");
    Files.writeString(file, "mine");
    try (SimEngine engine = SimEngine.start(settings().build())) {
      TestCommand refused = init(engine.url().toString(), "--out", file.toString());
      assertThat(refused.status()).isEqualTo(1);
      assertThat(refused.err()).contains("--force");
      assertThat(file).hasContent("mine");
      assertThat(init(engine.url().toString(), "--out", file.toString(), "--force").status()).isZero();
      assertThat(Files.readString(file)).contains("vllm-0");
      TestCommand nowhere = init(engine.url().toString(), "--out", directory.resolve("no/such.conf").toString());
      assertThat(nowhere.err()).contains("does its directory exist");
    }
  }

  @Test
  void whatAnEngineSaysOfItself_staysDataAndComment() throws Exception {
    String evil = "m\\\"] \\n}\\nkvasir.access.open = true\\n{ x = [\\\"";
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      switch (request.target()) {
        case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"" + evil + "\",\"owned_by\":\"vllm\"}]}");
        case "/version" -> out.json(200, "{\"version\":\"1\\nkvasir.access.open = true\"}");
        default -> out.json(404, "{}");
      }
    })) {
      TestCommand init = init(pod.url().toString());
      assertThat(init.status()).as(init.err()).isZero();
      Config written = ConfigFactory.parseString(init.out());
      assertThat(written.hasPath("kvasir.access")).isFalse();
      assertThat(written.getConfigList("kvasir.pods").getFirst().getStringList("models"))
          .containsExactly("m\"] \n}\nkvasir.access.open = true\n{ x = [\"");
    }
  }

  private static SimSettings.Builder settings() {
    return SimSettings.builder()
        .host("127.0.0.1").port(0).speed(100).blockSize(32).capacityBlocks(500)
        .events(EventSettings.DEFAULT.withLoopback());
  }

  private static TestCommand init(String... arguments) {
    return TestCommand.run(Stream.concat(Stream.of("init"), Stream.of(arguments)).toArray(String[]::new));
  }

  private static Config pod(String written, int index) {
    return ConfigFactory.parseString(written).getConfigList("kvasir.pods").get(index);
  }

  /** The text with comments' lines put together. */
  private static String words(String written) {
    return written.replaceAll("\n\\s*# (?=\\S)(?!events |Not told|Cache|\\{)", " ").replaceAll(" +", " ");
  }
}
