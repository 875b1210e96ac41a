package io.kvasir.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.doctor.Doctor.Subjects;
import io.kvasir.doctor.check.Finding;
import io.kvasir.doctor.check.Severity;
import io.kvasir.doctor.exam.EngineExaminer.Timeouts;
import io.kvasir.doctor.exam.EngineTarget;
import io.kvasir.doctor.exam.RouterExam;
import io.kvasir.doctor.exam.RouterExam.Prompts;
import io.kvasir.enginemodel.Speculation;
import io.kvasir.events.EventFeed;
import io.kvasir.events.SnapshotFormat;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.client.ScriptedPod;
import io.kvasir.load.Ports;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptMode;
import io.kvasir.sim.SimEngine;
import io.kvasir.sim.publisher.EventFormat;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.EngineCondition;
import io.kvasir.sim.settings.EventSettings;
import io.kvasir.sim.settings.SimSettings;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Each fault that an engine can have, at a simulated engine that has it. */
final class DoctorTest {
  private static final String MODEL = "kvasir-demo";
  private static final Timeouts PATIENT =
      new Timeouts(Duration.ofSeconds(60), Duration.ofSeconds(30), Duration.ofSeconds(20));

  /** For events that do not come. */
  private static final Timeouts HASTY =
      new Timeouts(Duration.ofSeconds(60), Duration.ofSeconds(30), Duration.ofMillis(300));

  /** For a socket that says nothing, as one for HTTP does. */
  private static final Timeouts MUTE =
      new Timeouts(Duration.ofSeconds(60), Duration.ofMillis(500), Duration.ofSeconds(20));

  private static HttpCalls calls;

  /** For faults that are not the engine's. */
  private static SimEngine healthy;

  private final List<SimEngine> engines = new ArrayList<>();

  @BeforeAll
  static void startHealthy() throws IOException {
    calls = new HttpCalls();
    healthy = SimEngine.start(settings().build());
  }

  @AfterAll
  static void closeHealthy() {
    healthy.close();
    calls.close();
  }

  @AfterEach
  void close() {
    engines.forEach(SimEngine::close);
  }

  private static SimSettings.Builder settings() {
    return SimSettings.builder().port(0).speed(0).capacityBlocks(1000).events(EventSettings.DEFAULT.withLoopback());
  }

  private SimEngine start(SimSettings.Builder settings) throws IOException {
    SimEngine engine = SimEngine.start(settings.build());
    engines.add(engine);
    return engine;
  }

  private SimEngine start(EngineCondition condition) throws IOException {
    return start(settings().conditions(Set.of(condition)));
  }

  private static List<EventFeed> zmq(SimEngine engine) {
    return List.of(
        new EventFeed.Zmq(String.valueOf(engine.eventsEndpoint()), engine.replayEndpoint(), "", false));
  }

  /** The engine as a right configuration describes it. */
  private static EngineTarget target(SimEngine engine) {
    return new EngineTarget(
        "pod", engine.url(), null, Set.of(MODEL), 16, engine.settings().engine().ranks(), zmq(engine));
  }

  private static EngineTarget target(SimEngine engine, List<EventFeed> events) {
    return new EngineTarget("pod", engine.url(), null, Set.of(MODEL), 16, 1, events);
  }

  private static Diagnosis examine(Timeouts timeouts, @Nullable List<ModelConfig> models, EngineTarget... targets)
      throws InterruptedException {
    return new Doctor(calls, timeouts, Clock.system(ZoneId.systemDefault()))
        .examine(new Subjects(List.of(targets), models, List.of(), null), _ -> { });
  }

  /** Without the router's models, so that no tokenizer is loaded. */
  private static Diagnosis examine(EngineTarget... targets) throws InterruptedException {
    return examine(PATIENT, null, targets);
  }

  private static Diagnosis examineWithTokens(EngineTarget target) throws InterruptedException {
    return examine(PATIENT, List.of(ModelConfig.demo(MODEL, 16)), target);
  }

  /** The only finding, which has to be this check's. */
  private static Finding only(Diagnosis diagnosis, String check, Severity severity) {
    assertThat(diagnosis.findings()).as("%s", diagnosis.findings()).extracting(Finding::check).containsExactly(check);
    Finding finding = diagnosis.findings().getFirst();
    assertThat(finding.severity()).isEqualTo(severity);
    assertThat(diagnosis.exitStatus()).isEqualTo(severity == Severity.ERROR ? 2 : severity == Severity.WARNING ? 1 : 0);
    assertThat(finding.why()).endsWith(".").isNotBlank();
    assertThat(finding.remedy()).endsWith(".").isNotBlank();
    return finding;
  }

  @ParameterizedTest
  @EnumSource(EngineApi.class)
  void aHealthyEngine_hasNothingWrong(EngineApi api) throws Exception {
    EventFormat format =
        api == EngineApi.SGLANG ? new EventFormat(EventFormat.Encoding.SGLANG, false, false) : EventFormat.VLLM;
    SimEngine engine =
        start(settings().api(api).ranks(2).events(EventSettings.DEFAULT.withLoopback().withFormat(format)));

    Diagnosis diagnosis = examineWithTokens(target(engine));

    assertThat(diagnosis.findings()).isEmpty();
    assertThat(diagnosis.exitStatus()).isZero();
    assertThat(engine.stats().queriedTokens()).isEqualTo(2 * 49);
  }

  @Test
  void anEngineThatIsNotConfigured_isExaminedByWhatItTells() throws Exception {
    SimEngine engine = start(settings().developerMode(true));

    Diagnosis diagnosis =
        examine(PATIENT, List.of(ModelConfig.demo(MODEL, 16)),
            new EngineTarget("pod", engine.url(), null, Set.of(MODEL), null, 1, null));

    assertThat(diagnosis.findings()).isEmpty();
  }

  @Test
  void reachable_nothingListens_orTheKeyIsWrong() throws Exception {
    URI closed = URI.create("http://127.0.0.1:" + Ports.free());
    EngineTarget gone = new EngineTarget("gone", closed, null, Set.of(MODEL), 16, 1, List.of());
    assertThat(only(examine(gone), "reachable", Severity.ERROR).problem()).contains("takes no connection");

    try (ScriptedPod locked = new ScriptedPod((request, out) -> out.json(401, "{}"))) {
      EngineTarget target = new EngineTarget("locked", locked.url(), "no", Set.of(MODEL), 16, 1, List.of());
      assertThat(only(examine(target), "reachable", Severity.ERROR).remedy()).contains("api-key");
    }
  }

  @Test
  void models_oneIsNotServed() throws Exception {
    EngineTarget target =
        new EngineTarget("pod", healthy.url(), null, Set.of(MODEL, "sql"), 16, 1, zmq(healthy));
    List<ModelConfig> models =
        List.of(
            new ModelConfig(MODEL, Set.of("sql"), 16, PromptMode.EXACT,
                ModelConfig.FileSources.in("bundled:kvasir-demo"), Map.of(), 0, false));

    Finding finding = only(examine(PATIENT, models, target), "models", Severity.ERROR);

    assertThat(finding.problem()).contains("does not serve sql");
    assertThat(finding.remedy()).contains("--lora-modules");
  }

  @Test
  void version_enginesOfAModelDiffer() throws Exception {
    EngineTarget vllm = target(healthy);
    EngineTarget other = target(start(settings().api(EngineApi.LLM_D)));

    assertThat(only(examine(vllm, other), "version", Severity.WARNING).problem()).contains("vLLM 0.32.0");
  }

  @Test
  void prefixCaching_isOff() throws Exception {
    assertThat(only(examine(target(start(settings().prefixCaching(false)))), "prefix-caching", Severity.ERROR).remedy())
        .contains("--enable-prefix-caching");
    Finding sglang =
        only(
            examine(target(start(settings().prefixCaching(false).api(EngineApi.SGLANG)))), "prefix-caching",
            Severity.ERROR);
    assertThat(sglang.remedy()).contains("--disable-radix-cache");
  }

  @Test
  void blockSize_isAnother() throws Exception {
    Finding finding = only(examine(target(start(settings().blockSize(24)))), "block-size", Severity.ERROR);

    assertThat(finding.problem()).contains("16").contains("24");
    assertThat(finding.remedy()).contains("block-size = 24").contains("--block-size 16");
  }

  @Test
  void ranks_areMore() throws Exception {
    SimEngine engine = start(settings().ranks(2));

    assertThat(only(examine(target(engine, zmq(engine))), "ranks", Severity.ERROR).remedy()).contains("ranks = 2");
  }

  @Test
  void tokenizer_isNotLoaded(@TempDir Path empty) throws Exception {
    EngineTarget target = target(healthy);

    assertThat(only(examine(PATIENT, List.of(), target), "tokenizer", Severity.WARNING).remedy())
        .contains("kvasir.models").contains(MODEL);
    assertThat(only(examine(PATIENT, List.of(ModelConfig.text(MODEL)), target), "tokenizer", Severity.WARNING)
        .problem()).contains("mode is text");
    ModelConfig missing =
        new ModelConfig(MODEL, Set.of(), 16, PromptMode.EXACT, ModelConfig.FileSources.in(empty.toString()), Map.of(),
            0, false);
    assertThat(only(examine(PATIENT, List.of(missing), target), "tokenizer", Severity.ERROR).problem())
        .contains("tokenizer.json");
  }

  @Test
  void tokens_ofATextDiffer(@TempDir Path directory) throws Exception {
    copyDemo(directory);
    Path file = directory.resolve("tokenizer.json");
    ObjectMapper json = new ObjectMapper();
    ObjectNode tokenizer = (ObjectNode) json.readTree(file.toFile());
    ObjectNode vocabulary = (ObjectNode) tokenizer.at("/model/vocab");
    int seven = vocabulary.path("7").intValue();
    vocabulary.put("7", vocabulary.path("5").intValue()).put("5", seven);
    json.writeValue(file.toFile(), tokenizer);

    Finding finding =
        only(examineWithTokens(target(start(settings().modelDirectory(directory)))), "tokens", Severity.ERROR);

    assertThat(finding.problem()).contains("tokenizer").contains("at token ");
    assertThat(finding.remedy()).contains("directory").contains(directory.toString());
  }

  @Test
  void tokens_ofAConversationDiffer(@TempDir Path directory) throws Exception {
    copyDemo(directory);
    Path template = directory.resolve("chat_template.jinja");
    Files.writeString(template, "Hello there. " + Files.readString(template));

    Finding finding =
        only(examineWithTokens(target(start(settings().modelDirectory(directory)))), "tokens", Severity.ERROR);

    assertThat(finding.problem()).contains("chat template");
    assertThat(finding.remedy()).contains("chat-template");
  }

  private static void copyDemo(Path directory) throws IOException {
    for (String name : List.of("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")) {
      try (InputStream in = DoctorTest.class.getResourceAsStream("/models/kvasir-demo/" + name)) {
        Files.copy(in, directory.resolve(name));
      }
    }
  }

  @Test
  void eventTransport_nothingListens() throws Exception {
    SimEngine engine = start(settings().api(EngineApi.LLM_D).events(EventSettings.OFF));
    List<EventFeed> feed = List.of(new EventFeed.Zmq("tcp://127.0.0.1:" + Ports.free(), null, "", false));

    Finding finding = only(examine(target(engine, feed)), "event-transport", Severity.ERROR);

    assertThat(finding.problem()).contains("nothing listens");
    assertThat(finding.remedy()).contains("--kv-events-config").contains("tcp://0.0.0.0:5557");
  }

  @Test
  void eventTransport_isTheHttpPort_orTheReplay() throws Exception {
    List<EventFeed> http =
        List.of(new EventFeed.Zmq("tcp://127.0.0.1:" + healthy.url().getPort(), healthy.replayEndpoint(), "", false));
    Diagnosis diagnosis = examine(MUTE, null, target(healthy, http));
    assertThat(only(diagnosis, "event-transport", Severity.ERROR).problem())
        .contains("wrong transport").contains("no ZMQ socket");

    List<EventFeed> swapped =
        List.of(
            new EventFeed.Zmq(
                String.valueOf(healthy.replayEndpoint()), String.valueOf(healthy.eventsEndpoint()), "", false));
    Finding finding = only(examine(target(healthy, swapped)), "event-transport", Severity.ERROR);
    assertThat(finding.problem()).contains("ROUTER");
    assertThat(finding.remedy()).contains("exchange");
  }

  @Test
  void eventTransport_isNotWhatTheEngineTells() throws Exception {
    SimEngine sglang = start(settings().api(EngineApi.SGLANG)
        .events(EventSettings.DEFAULT.withLoopback().withFormat(
            new EventFormat(EventFormat.Encoding.SGLANG, false, false))));
    Finding pushed =
        only(examine(target(sglang, List.of(new EventFeed.Push(null)))), "event-transport", Severity.WARNING);
    assertThat(pushed.problem()).contains("waits for pushes");
    assertThat(pushed.remedy()).contains(String.valueOf(sglang.eventsEndpoint()));
    EventFeed polled = new EventFeed.TensorRt(null, Duration.ofMillis(50));
    assertThat(only(examine(target(sglang, List.of(polled))), "event-transport", Severity.ERROR).problem())
        .contains("wrong transport");
    assertThat(only(examine(target(sglang, List.of())), "event-transport", Severity.WARNING).problem())
        .contains("does not take them");

    EventSettings dials =
        new EventSettings(
            true, "127.0.0.1", new EventSettings.PubSettings(0, "tcp://127.0.0.1:9"),
            new EventSettings.ReplaySettings(false, 0, true, 0), "", EventFormat.VLLM);
    SimEngine dialling = start(settings().developerMode(true).events(dials));
    List<EventFeed> feed = List.of(new EventFeed.Zmq("tcp://127.0.0.1:9", null, "", false));
    assertThat(only(examine(target(dialling, feed)), "event-transport", Severity.ERROR).problem())
        .contains("it connects");

    SimEngine silent = start(settings().developerMode(true).events(EventSettings.OFF));
    assertThat(only(examine(target(silent, feed)), "event-transport", Severity.ERROR).remedy())
        .contains("enable_kv_cache_events");
  }

  @Test
  void events_doNotCome() throws Exception {
    EngineTarget target = target(start(EngineCondition.SILENT));

    Finding finding =
        only(
            examine(HASTY, null, target),
            "events", Severity.ERROR);

    assertThat(finding.problem()).contains("its events told 0");
  }

  @Test
  void events_cannotBeRead() throws Exception {
    EngineTarget target = target(start(EngineCondition.GARBLED));

    Finding finding =
        only(
            examine(HASTY, null, target),
            "events", Severity.ERROR);

    assertThat(finding.problem()).contains("cannot be read");
  }

  @Test
  void topic_isAnother() throws Exception {
    EventSettings events =
        new EventSettings(
            true, "127.0.0.1", EventSettings.PubSettings.bound(0),
            new EventSettings.ReplaySettings(true, 0, true, 100), "kv@h1", EventFormat.VLLM);
    SimEngine engine = start(settings().events(events));
    assertThat(examine(target(engine)).findings()).isEmpty();

    List<EventFeed> other =
        List.of(
            new EventFeed.Zmq(String.valueOf(engine.eventsEndpoint()), engine.replayEndpoint(), "kv@h2", false));
    assertThat(only(examine(target(engine, other)), "topic", Severity.ERROR).remedy()).contains("kv@h1");
  }

  @Test
  void salt_isNotTold() throws Exception {
    assertThat(only(examine(target(start(EngineCondition.UNSALTED))), "salt", Severity.WARNING).problem())
        .contains("cache_salt");
  }

  @Test
  void replay_isNotThere_orTooShort() throws Exception {
    List<EventFeed> none =
        List.of(new EventFeed.Zmq(String.valueOf(healthy.eventsEndpoint()), null, "", false));
    assertThat(only(examine(target(healthy, none)), "replay", Severity.WARNING).remedy()).contains("replay_endpoint");

    List<EventFeed> wrong =
        List.of(
            new EventFeed.Zmq(
                String.valueOf(healthy.eventsEndpoint()), String.valueOf(healthy.eventsEndpoint()), "", false));
    assertThat(only(examine(target(healthy, wrong)), "replay", Severity.ERROR).problem()).contains("no replay");

    EventSettings events =
        new EventSettings(
            true, "127.0.0.1", EventSettings.PubSettings.bound(0),
            new EventSettings.ReplaySettings(true, 0, true, 1), "", EventFormat.VLLM);
    EngineTarget forgetting = target(start(settings().events(events)));
    Diagnosis _ = examine(forgetting);
    Finding brief = of(examine(forgetting), "replay");
    assertThat(brief.severity()).isEqualTo(Severity.WARNING);
    assertThat(brief.problem()).contains("keeps 1 batches");
    assertThat(brief.remedy()).contains("buffer_steps");
  }

  @Test
  void snapshot_isNotThere_orIsNeeded() throws Exception {
    SimEngine old = start(settings().events(EventSettings.DEFAULT.withLoopback().withHistory(1, false)));
    Diagnosis _ = examine(target(old));
    Finding needed = of(examine(target(old)), "snapshot");
    assertThat(needed.severity()).isEqualTo(Severity.NOTE);
    assertThat(needed.problem()).contains("its replay keeps 1 of them");
    assertThat(needed.remedy()).contains("events.snapshot");

    Finding unknown = of(examine(target(old, asked(old))), "snapshot");
    assertThat(unknown.severity()).isEqualTo(Severity.WARNING);
    assertThat(unknown.problem()).contains("does not know the snapshots");

    SimEngine knowing = start(settings().events(EventSettings.DEFAULT.withLoopback().withHistory(1, true)));
    Diagnosis _ = examine(target(knowing));
    assertThat(examine(target(knowing, asked(knowing))).findings()).extracting(Finding::check)
        .doesNotContain("snapshot");
  }

  /** The one finding of a check. */
  private static Finding of(Diagnosis diagnosis, String check) {
    List<Finding> found = diagnosis.findings().stream().filter(finding -> finding.check().equals(check)).toList();
    assertThat(found).hasSize(1);
    return found.getFirst();
  }

  private static List<EventFeed> asked(SimEngine engine) {
    return List.of(
        new EventFeed.Zmq(
            String.valueOf(engine.eventsEndpoint()), engine.replayEndpoint(), "", false, false, false, List.of(),
            SnapshotFormat.VLLM_50134));
  }

  @Test
  void cachedTokens_areNotReported() throws Exception {
    assertThat(
        only(
            examine(target(start(settings().cachedTokens(CachedTokensUsage.NEVER)))), "cached-tokens",
            Severity.WARNING).remedy())
        .contains("--enable-prompt-tokens-details");
  }

  @Test
  void promise_isNotKept() throws Exception {
    assertThat(only(examine(target(start(EngineCondition.FORGETFUL))), "promise", Severity.ERROR).problem())
        .isEqualTo("of 48 tokens promised 0 were found in its cache");
  }

  /** A draft model costs a block of a hit, which routers learn or are told. */
  @ParameterizedTest
  @CsvSource({"VLLM_MAP, RECOMPUTES_LAST_BLOCK", "VLLM_MAP, LOOKAHEAD", "SGLANG, LOOKAHEAD"})
  void promise_ofEnginesThatSpeculate_isKept(EventFormat.Encoding encoding, Speculation speculation) throws Exception {
    EventFormat format = new EventFormat(encoding, false, false);
    SimEngine engine =
        start(settings().speculation(speculation).events(EventSettings.DEFAULT.withLoopback().withFormat(format)));
    assertThat(examine(target(engine)).findings()).extracting(Finding::check).doesNotContain("promise");
  }

  @Test
  void promise_cannotBeTried() throws Exception {
    Finding finding =
        only(examine(target(start(settings().maxModelLen(40)))), "promise", Severity.WARNING);

    assertThat(finding.problem()).contains("context of 40 tokens");
  }

  @Test
  void clock_isFast() throws Exception {
    assertThat(only(examine(target(start(EngineCondition.FAST_CLOCK))), "clock", Severity.WARNING).problem())
        .endsWith(" s ahead");
  }

  @Test
  void hashSeed_isAnother() throws Exception {
    EngineTarget one = target(start(settings().seed(1)));
    EngineTarget two = target(start(settings().seed(2)));
    EngineTarget alike = target(start(settings().seed(1)));

    assertThat(examine(one, alike).findings()).isEmpty();
    assertThat(only(examine(one, two), "hash-seed", Severity.NOTE).remedy()).contains("PYTHONHASHSEED");
  }

  /**
   * A mistake by which routing acts like round robin, and says nothing.
   *
   * @param target the engine as the router is told of it
   * @param models those that the router has, null when that is not known
   * @param router what a running router says, null without one
   * @param check that names it
   * @param named what the finding says
   * @param remedy the flag or line that mends it
   */
  record Mistake(
      String name,
      EngineTarget target,
      @Nullable List<ModelConfig> models,
      @Nullable RouterExam router,
      String check,
      String named,
      String remedy) {
    @Override
    public String toString() {
      return name;
    }
  }

  static List<Mistake> mistakes() {
    String events = String.valueOf(healthy.eventsEndpoint());
    String replay = String.valueOf(healthy.replayEndpoint());
    String http = "tcp://127.0.0.1:" + healthy.url().getPort();
    EngineTarget right = target(healthy);
    EngineTarget dialled = target(healthy, List.of(new EventFeed.Zmq("tcp://127.0.0.1:1", null, "", false)));
    return List.of(
        new Mistake(
            "prompts shorter than a block", right, null, router(new Prompts(10, 9, 512, 0)), "prompt-length",
            "9 of the latest 10 prompts are shorter than a block of 512 tokens", "--block-size"),
        new Mistake(
            "wrong transport: the HTTP port",
            target(healthy, List.of(new EventFeed.Zmq(http, replay, "", false))),
            null, null, "event-transport", "wrong transport", "--kv-events-config"),
        new Mistake(
            "wrong transport: the replay socket",
            target(healthy, List.of(new EventFeed.Zmq(replay, events, "", false))), null, null, "event-transport",
            "wrong transport", "exchange events.endpoint and events.replay"),
        new Mistake(
            "wrong transport: both connect", dialled, null, null, "event-transport", "nothing listens",
            "tcp://*:5557"),
        new Mistake(
            "another topic", target(healthy, List.of(new EventFeed.Zmq(events, replay, "kv@x", false))), null, null,
            "topic", "subscribes to \"kv@x\"", "events.topic"),
        new Mistake(
            "tokenizer not loaded: no such model", right, List.of(), null, "tokenizer", "is not loaded",
            "kvasir.models = [{ name = \"" + MODEL + "\""),
        new Mistake(
            "tokenizer not loaded: mode text", right, List.of(ModelConfig.text(MODEL)), null, "tokenizer",
            "its mode is text", "models[].mode = exact"),
        new Mistake(
            "tokenizer not loaded, as decisions show", right, null, router(new Prompts(10, 0, 8, 9)), "tokenizer",
            "known by their text only", "kvasir.models"),
        new Mistake(
            "another block size", new EngineTarget("pod", healthy.url(), null, Set.of(MODEL), 32, 1, zmq(healthy)),
            null, null, "block-size", "blocks of 32 tokens", "block-size = 16"));
  }

  private static RouterExam router(Prompts prompts) {
    return new RouterExam("http://h1:7626", List.of(), List.of(), prompts, List.of(), List.of(), List.of());
  }

  @ParameterizedTest
  @MethodSource("mistakes")
  void whatMakesRoutingActLikeRoundRobin_isNamed_withTheFlagThatMendsIt(Mistake mistake) throws Exception {
    Diagnosis diagnosis =
        new Doctor(calls, MUTE, Clock.system(ZoneId.systemDefault()))
            .examine(
                new Subjects(List.of(mistake.target()), mistake.models(), List.of(), mistake.router()), _ -> { });

    Finding finding = only(diagnosis, mistake.check(), diagnosis.findings().getFirst().severity());
    assertThat(finding.severity()).isIn(Severity.ERROR, Severity.WARNING);
    assertThat(finding.problem()).contains(mistake.named());
    assertThat(finding.remedy()).contains(mistake.remedy());
  }
}
