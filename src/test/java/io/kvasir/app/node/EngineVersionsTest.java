package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.app.node.EngineVersions.Round;
import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.cell.LearntEngines.LearntModel;
import io.kvasir.cell.PodSpec;
import io.kvasir.cell.TestPods;
import io.kvasir.execution.FakeCells;
import io.kvasir.http.ApiPath;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.client.PodKeys;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.prompt.chat.EngineGroup;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.chat.SglangVersion;
import io.kvasir.prompt.chat.VllmVersion;
import io.kvasir.routing.Role;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What engines are, asked over real sockets. */
final class EngineVersionsTest {
  private static final String MODEL = "m";

  private final HttpCalls calls = new HttpCalls();
  private final ExecutorService background = Executors.newVirtualThreadPerTaskExecutor();
  private final FakeCells cells = new FakeCells();

  @AfterEach
  void close() {
    calls.close();
    background.shutdownNow();
  }

  private EngineVersions engines(PodKeys keys) {
    return new EngineVersions(cells, cells.pods, calls, keys, background, Duration.ofSeconds(60));
  }

  private static String name(EngineVersion version) {
    return EngineGroup.of(version).name();
  }

  private static SimEngine engine(EngineApi api) throws IOException {
    return SimEngine.start(
        SimSettings.builder().port(0).speed(0).api(api).maxModelLen(8192).events(EventSettings.OFF).build());
  }

  private static ScriptedPod vllm(String version) throws IOException {
    return new ScriptedPod((request, out) -> out.json(200,
        "{\"version\":\"%s\",\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}],\"tokens\":[%s]}"
            .formatted(version, 1 + version.replaceAll("\\D", ""))));
  }

  @Test
  void ofOneModel_thatOfMostEnginesIsFirst_andEachPreparationIsThereOnce() throws Exception {
    try (SimEngine vllm = engine(EngineApi.VLLM);
        SimEngine sglang = engine(EngineApi.SGLANG);
        SimEngine another = engine(EngineApi.SGLANG)) {
      cells.worker("a", vllm.url(), MODEL);
      cells.worker("b", sglang.url(), MODEL);
      cells.worker("c", another.url(), MODEL);
      cells.worker("d", vllm.url(), "another model");
      EngineVersions engines = engines(PodKeys.NONE);
      assertThat(engines.of(MODEL)).as("before any was asked").isEmpty();

      engines.refresh(Round.NEW);

      SglangVersion newer = new SglangVersion(0, 5, 23, null);
      VllmVersion older = new VllmVersion(0, 32);
      assertThat(engines.of(MODEL)).containsExactly(newer, older);
      assertThat(engines.of("another model")).containsExactly(older);
      assertThat(engines.pod(MODEL, older)).isEqualTo(vllm.url());
      engines.refresh(Round.NEW);
      Map<String, LearntModel> models =
          Map.of("kvasir-demo", new LearntModel("kvasir-demo", null, 8192));
      LearntEngine learntVllm = new LearntEngine(name(older), false, true, false, 16, Set.of(), models);
      LearntEngine learntSglang =
          new LearntEngine(name(newer), true, true, true, 16, Set.of(ApiPath.RESPONSES, ApiPath.MESSAGES), models);
      assertThat(engines.learnt()).isEqualTo(Map.of(
          "a", learntVllm, "b", learntSglang, "c", learntSglang, "d", learntVllm));
      cells.setIll("b", true);
      cells.setIll("c", true);
      assertThat(engines.of(MODEL)).as("of those that are well").containsExactly(older);
    }
  }

  @ParameterizedTest
  @EnumSource(value = EngineApi.class, names = {"LLM_D", "DYNAMO"})
  void anotherMake_isTakenForTheNewestVllm(EngineApi api) throws Exception {
    try (SimEngine other = engine(api)) {
      cells.worker("a", other.url(), MODEL);
      EngineVersions engines = engines(PodKeys.NONE);
      engines.refresh(Round.NEW);
      assertThat(engines.of(MODEL)).containsExactly(VllmVersion.NEWEST);
      engines.refresh(Round.ALL);
      assertThat(engines.of(MODEL)).as("asked again").containsExactly(VllmVersion.NEWEST);
    }
  }

  @Test
  void refresh_showsThePodsKey_andAsksForVersionAndMetrics() throws Exception {
    try (ScriptedPod pod = vllm("0.31.0")) {
      cells.worker("a", pod.url(), MODEL);
      EngineVersions engines = engines(new PodKeys(Map.of(pod.url(), PodKeys.Key.of("secret")), null));
      engines.refresh(Round.NEW);
      assertThat(engines.of(MODEL)).containsExactly(new VllmVersion(0, 31));
      engines.refresh(Round.NEW);
      List<String> asked = new ArrayList<>();
      for (int i = 0; i < 5; i++) {
        ScriptedPod.ReceivedRequest request = pod.next();
        assertThat(request.headers().first("Authorization")).isEqualTo("Bearer secret");
        asked.add(request.target());
      }
      assertThat(asked).containsExactlyInAnyOrder("/v1/models", "/version", "/v1/models", "/version", "/metrics");
      engines.refresh(Round.ALL);
      asked.clear();
      for (int i = 0; i < 2; i++) {
        asked.add(pod.next().target());
      }
      assertThat(asked).as("asked again").containsExactlyInAnyOrder("/v1/models", "/version");
    }
  }

  /** A router that has known a fleet for long asks each engine little. */
  @Test
  void askedAgain_anSglangTellsByThePagesThatItHas() throws Exception {
    List<String> asked = new ArrayList<>();
    try (ScriptedPod pod = new ScriptedPod((request, out) -> {
      synchronized (asked) {
        asked.add(request.target());
      }
      switch (request.target()) {
        case "/v1/models" -> out.json(200, "{\"data\":[{\"id\":\"m\",\"owned_by\":\"sglang\"}]}");
        case "/server_info?config_format=json" ->
            out.json(200, "{\"version\":\"0.5.22\",\"disaggregation_mode\":\"null\"}");
        default -> out.json(404, "{}");
      }
    })) {
      cells.worker("a", pod.url(), MODEL);
      EngineVersions engines = engines(PodKeys.NONE);
      engines.refresh(Round.NEW);
      engines.refresh(Round.NEW);
      synchronized (asked) {
        asked.clear();
      }
      engines.refresh(Round.ALL);
      assertThat(asked).containsExactlyInAnyOrder("/v1/models", "/server_info?config_format=json");
      assertThat(engines.of(MODEL)).containsExactly(new SglangVersion(0, 5, 22, null));
    }
  }

  @Test
  void anEngineThatDoesNotAnswer_isNotKnown_andAskedNextTime() throws Exception {
    String[] status = {"503"};
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(Integer.parseInt(status[0]),
        "{\"version\":\"0.31.0\",\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}"))) {
      cells.worker("a", pod.url(), MODEL);
      EngineVersions engines = engines(PodKeys.NONE);
      engines.refresh(Round.NEW);
      assertThat(engines.of(MODEL)).isEmpty();
      assertThat(engines.pod(MODEL)).as("it serves the model all the same").isEqualTo(pod.url());
      status[0] = "200";
      engines.refresh(Round.NEW);
      assertThat(engines.of(MODEL)).as("asked before").isEmpty();
      engines.refresh(Round.SILENT);
      assertThat(engines.of(MODEL)).containsExactly(new VllmVersion(0, 31));
      status[0] = "503";
      engines.refresh(Round.ALL);
      assertThat(engines.of(MODEL)).as("what it was when it answered last").containsExactly(new VllmVersion(0, 31));
    }
  }

  /** An engine that is busy with its first prompt may answer late. */
  @Test
  void anEngineThatDoesNotAnswer_isWhatWasLearntOfIt() throws Exception {
    String[] status = {"503"};
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(Integer.parseInt(status[0]),
        "{\"version\":\"0.32.0\",\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}"))) {
      cells.worker("a", pod.url(), MODEL);
      PodSpec described = TestPods.pod("a").build();
      cells.pods.announce(described.with(new PodSpec.Learnt("{}", "SGLang 0.5.22 (simulated)", List.of())));
      EngineVersions engines = engines(PodKeys.NONE);
      engines.refresh(Round.NEW);
      assertThat(engines.of(MODEL)).containsExactly(new SglangVersion(0, 5, 22, null));

      status[0] = "200";
      assertThat(cells.pods.replace(
          cells.pods.all().getFirst(), described.with(new PodSpec.Learnt("{}", "vLLM 0.32.0", List.of())))).isTrue();
      engines.refresh(Round.NEW);
      assertThat(engines.of(MODEL)).as("described anew").containsExactly(new VllmVersion(0, 32));
    }
  }

  /** What comes to it as /v1/responses the router has made a chat completion of. */
  @Test
  void anSglangThatSharesRequests_isAnotherThanOneThatDoesAll() throws Exception {
    try (SimEngine sglang = engine(EngineApi.SGLANG)) {
      cells.worker("a", sglang.url(), MODEL);
      cells.worker("b", sglang.url(), MODEL);
      cells.pods.announce(TestPods.pod("a").build());
      cells.pods.announce(TestPods.pod("b").role(Role.PREFILL).build());
      EngineVersions engines = engines(PodKeys.NONE);
      engines.refresh(Round.NEW);
      SglangVersion whole = new SglangVersion(0, 5, 23, null);
      assertThat(engines.of(MODEL)).containsExactly(whole, whole.asDisaggregated());
    }
  }

  /** So that it is known when it gets its first request. */
  @Test
  void anEngineThatIsNotWellYet_isAskedAtOnce_andOnceMoreWhenItIs() throws Exception {
    String[] status = {"200"};
    try (ScriptedPod ready = vllm("0.31.0");
        ScriptedPod late = new ScriptedPod((request, out) -> out.json(Integer.parseInt(status[0]),
            "{\"version\":\"0.32.0\",\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}"))) {
      cells.worker("a", ready.url(), MODEL);
      cells.worker("b", late.url(), MODEL);
      cells.setIll("a", true);
      cells.setIll("b", true);
      status[0] = "503";
      EngineVersions engines = engines(PodKeys.NONE);
      engines.refresh(Round.NEW);
      status[0] = "200";
      engines.refresh(Round.SILENT);
      assertThat(engines.learnt().get("b")).isEqualTo(LearntEngine.UNKNOWN);

      cells.setIll("a", false);
      cells.setIll("b", false);
      assertThat(engines.of(MODEL)).containsExactly(new VllmVersion(0, 31));
      engines.refresh(Round.NEW);
      assertThat(engines.of(MODEL)).containsExactlyInAnyOrder(new VllmVersion(0, 31), new VllmVersion(0, 32));
    }
  }

  @Test
  void anEngineThatWasLost_isAskedAgain() throws Exception {
    String[] version = {"0.31.0"};
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(200,
        "{\"version\":\"%s\",\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\"}]}".formatted(version[0])))) {
      cells.worker("a", pod.url(), MODEL);
      EngineVersions engines = engines(PodKeys.NONE);
      engines.refresh(Round.NEW);
      version[0] = "0.32.0";
      engines.refresh(Round.NEW);
      assertThat(engines.of(MODEL)).as("asked once").containsExactly(new VllmVersion(0, 31));
      cells.lose("a");
      engines.refresh(Round.SILENT);
      assertThat(engines.of(MODEL)).containsExactly(new VllmVersion(0, 32));
      cells.workers.clear();
      engines.refresh(Round.NEW);
      assertThat(engines.learnt()).as("gone").isEmpty();
    }
  }

  /** So that clients find where it was loaded from as soon as it is listed. */
  @Test
  void adapterThatIsLoadedLater_isDescribedOnceItIsKnown() throws Exception {
    String adapter = ",{\"id\":\"x\",\"owned_by\":\"vllm\",\"root\":\"/loras/x\",\"parent\":\"m\"}";
    String[] loaded = {""};
    boolean[] silent = {false};
    try (ScriptedPod pod = new ScriptedPod((request, out) -> out.json(silent[0] ? 503 : 200,
        "{\"version\":\"0.32.0\",\"data\":[{\"id\":\"m\",\"owned_by\":\"vllm\",\"root\":\"/m\"}%s]}"
            .formatted(loaded[0])))) {
      cells.worker("a", pod.url(), MODEL);
      EngineVersions engines = engines(PodKeys.NONE);
      engines.refresh(Round.NEW);
      engines.refresh(Round.NEW);
      assertThat(engines.learnt().get("a").models()).containsOnlyKeys("m");

      loaded[0] = adapter;
      cells.workers.clear();
      cells.worker("a", pod.url(), MODEL, "x");
      silent[0] = true;
      engines.refresh(Round.SILENT);
      assertThat(engines.learnt().get("a").models()).as("what it told last").containsOnlyKeys("m");
      silent[0] = false;
      engines.refresh(Round.SILENT);
      assertThat(engines.learnt().get("a").models())
          .containsEntry("x", new LearntModel("/loras/x", "m", 0))
          .containsKey("m");
      assertThat(engines.of(MODEL)).containsExactly(new VllmVersion(0, 32));

      loaded[0] = "";
      cells.workers.clear();
      cells.worker("a", pod.url(), MODEL);
      engines.refresh(Round.SILENT);
      assertThat(engines.learnt().get("a").models()).as("unloaded").containsOnlyKeys("m");
    }
  }

  /** Which is done ten times a second, of thousands of workers. */
  @Test
  void aFleetThatIsKnown_isNotLookedAt_untilItChanges() throws Exception {
    try (ScriptedPod pod = vllm("0.32.0")) {
      cells.worker("a", pod.url(), MODEL);
      EngineVersions engines = engines(PodKeys.NONE);
      assertThat(engines.refresh(Round.NEW)).isTrue();
      assertThat(engines.refresh(Round.NEW)).as("its blocks").isTrue();
      int looks = cells.looks();
      assertThat(engines.refresh(Round.NEW)).isFalse();
      assertThat(cells.looks()).isEqualTo(looks);
      cells.worker("b", pod.url(), MODEL);
      assertThat(engines.refresh(Round.NEW)).isTrue();
      assertThat(engines.learnt()).containsOnlyKeys("a", "b");
      cells.worker("dead", URI.create("http://127.0.0.1:1"), MODEL);
      cells.setIll("dead", true);
      assertThat(engines.refresh(Round.NEW)).isTrue();
      assertThat(engines.refresh(Round.NEW)).as("nothing is new").isFalse();
      cells.workers.removeLast();
      assertThat(engines.refresh(Round.NEW)).as("one is gone").isTrue();
    }
  }

  @Test
  void prompts_areTokenisedByAnEngineOfTheVersion() throws Exception {
    try (ScriptedPod older = vllm("0.11.0"); ScriptedPod newer = vllm("0.32.0")) {
      cells.worker("a", older.url(), MODEL);
      cells.worker("b", newer.url(), MODEL);
      EngineVersions engines = engines(PodKeys.NONE);
      engines.refresh(Round.NEW);
      HttpTokenizer tokenizer = new HttpTokenizer(calls, PodKeys.NONE, engines, MODEL, Duration.ofSeconds(60));
      assertThat(tokenizer.tokenize("{}", new VllmVersion(0, 11))).containsExactly(10_110);
      assertThat(tokenizer.tokenize("{}", new VllmVersion(0, 32))).containsExactly(10_320);
    }
  }
}
