package io.kvasir;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import io.kvasir.ClassGraph.Arrow;
import io.kvasir.app.config.PluginJars;
import io.kvasir.time.NanoClock;
import java.io.IOException;
import java.net.http.HttpClient;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import org.junit.jupiter.api.Test;

/** Holds the house's arrows: who may import whom. */
final class RoomsTest {
  private static final JavaClasses HOUSE =
      new ClassFileImporter()
          .withImportOption(location -> !isTest(location.asURI().getSchemeSpecificPart()))
          .importUrl(NanoClock.class.getProtectionDomain().getCodeSource().getLocation());

  @Test
  void arrows() {
    layeredArchitecture()
          .consideringOnlyDependenciesInAnyPackage("io.kvasir..")
          .layer("index").definedBy("io.kvasir.index..")
          .layer("events").definedBy("io.kvasir.events..")
          .layer("prompt").definedBy("io.kvasir.prompt..")
          .layer("routing").definedBy("io.kvasir.routing..")
          .layer("cell").definedBy("io.kvasir.cell..")
          .layer("discovery").definedBy("io.kvasir.discovery..")
          .layer("kubernetes").definedBy("io.kvasir.kubernetes..")
          .layer("execution").definedBy("io.kvasir.execution..")
          .layer("semantic").definedBy("io.kvasir.semantic..")
          .layer("gateway").definedBy("io.kvasir.gateway..")
          .layer("answers").definedBy("io.kvasir.answers..")
          .layer("lmcache").definedBy("io.kvasir.lmcache..")
          .layer("telemetry").definedBy("io.kvasir.telemetry..")
          .layer("tracing").definedBy("io.kvasir.tracing..")
          .layer("time").definedBy("io.kvasir.time..")
          .layer("http").definedBy("io.kvasir.http..")
          .layer("access").definedBy("io.kvasir.access..")
          .layer("admission").definedBy("io.kvasir.admission..")
          .layer("limits").definedBy("io.kvasir.limits..")
          .layer("peer").definedBy("io.kvasir.peer..")
          .layer("programs").definedBy("io.kvasir.programs..")
          .layer("enginemodel").definedBy("io.kvasir.enginemodel..")
          .layer("lab").definedBy("io.kvasir.lab..")
          .layer("engines").definedBy("io.kvasir.engines..")
          .layer("vllm").definedBy("io.kvasir.vllm..")
          .layer("doctor").definedBy("io.kvasir.doctor..")
          .layer("sim").definedBy("io.kvasir.sim..")
          .layer("pools").definedBy("io.kvasir.pools..")
          .layer("picker").definedBy("io.kvasir.picker..")
          .layer("console").definedBy("io.kvasir.console..")
          .layer("scale").definedBy("io.kvasir.scale..")
          .layer("llmd").definedBy("io.kvasir.llmd..")
          .layer("locations").definedBy("io.kvasir.locations..")
          .layer("app").definedBy("io.kvasir.app..")
          .whereLayer("time").mayNotAccessAnyLayer()
          .whereLayer("pools").mayNotAccessAnyLayer()
          .whereLayer("picker").mayOnlyAccessLayers(
              "pools", "gateway", "execution", "cell", "routing", "access", "tracing", "http", "telemetry", "time")
          .whereLayer("picker").mayOnlyBeAccessedByLayers("app")
          .whereLayer("index").mayOnlyAccessLayers("time")
          .whereLayer("telemetry").mayOnlyAccessLayers("time")
          .whereLayer("http").mayOnlyAccessLayers("telemetry", "time")
          .whereLayer("admission").mayOnlyAccessLayers("telemetry", "time")
          .whereLayer("admission").mayOnlyBeAccessedByLayers("access", "cell", "scale", "gateway", "app")
          .whereLayer("access").mayOnlyAccessLayers("admission", "http", "telemetry", "time")
          .whereLayer("access").mayOnlyBeAccessedByLayers("limits", "gateway", "app")
          .whereLayer("limits").mayOnlyAccessLayers("access", "telemetry", "time")
          .whereLayer("limits").mayOnlyBeAccessedByLayers("gateway", "app")
          .whereLayer("peer").mayOnlyAccessLayers("http", "time")
          .whereLayer("peer").mayOnlyBeAccessedByLayers("cell", "app")
          .whereLayer("events").mayOnlyAccessLayers("index", "telemetry", "time")
          .whereLayer("prompt").mayOnlyAccessLayers("index", "telemetry", "http", "time")
          .whereLayer("routing").mayOnlyAccessLayers("index", "prompt", "telemetry", "time")
          .whereLayer("cell").mayOnlyAccessLayers(
              "admission", "programs", "routing", "index", "events", "peer", "locations", "telemetry", "http", "time")
          .whereLayer("discovery").mayOnlyAccessLayers(
              "cell", "engines", "kubernetes", "pools", "telemetry", "http", "time")
          .whereLayer("kubernetes").mayOnlyAccessLayers("pools", "telemetry", "http", "time")
          .whereLayer("kubernetes").mayOnlyBeAccessedByLayers("discovery", "app")
          .whereLayer("tracing").mayOnlyAccessLayers("http", "telemetry", "time")
          .whereLayer("tracing").mayOnlyBeAccessedByLayers("execution", "gateway", "app")
          .whereLayer("execution").mayOnlyAccessLayers("http", "routing", "cell", "tracing", "telemetry", "time")
          .whereLayer("semantic").mayOnlyAccessLayers("routing", "telemetry", "http", "time")
          .whereLayer("semantic").mayOnlyBeAccessedByLayers("app")
          .whereLayer("answers").mayOnlyAccessLayers("telemetry", "http", "time")
          .whereLayer("answers").mayOnlyBeAccessedByLayers("gateway", "app")
          .whereLayer("locations").mayOnlyAccessLayers("http", "telemetry", "time")
          .whereLayer("locations").mayOnlyBeAccessedByLayers("cell", "gateway", "app")
          .whereLayer("lmcache").mayOnlyAccessLayers("events", "routing", "index", "telemetry", "http", "time")
          .whereLayer("lmcache").mayOnlyBeAccessedByLayers("app")
          .whereLayer("console").mayOnlyAccessLayers("http")
          .whereLayer("console").mayOnlyBeAccessedByLayers("app")
          .whereLayer("scale").mayOnlyAccessLayers("admission", "cell", "routing", "http", "telemetry", "time")
          .whereLayer("scale").mayOnlyBeAccessedByLayers("lab", "app")
          .whereLayer("llmd").mayNotAccessAnyLayer()
          .whereLayer("llmd").mayOnlyBeAccessedByLayers("app")
          .whereLayer("gateway").mayOnlyAccessLayers(
              "access", "admission", "programs", "limits", "execution", "http", "routing", "prompt", "cell", "events",
              "index", "answers", "locations", "tracing", "telemetry", "time")
          .whereLayer("programs").mayOnlyAccessLayers("index")
          .whereLayer("programs").mayOnlyBeAccessedByLayers("cell", "gateway", "lab", "app")
          .whereLayer("enginemodel").mayOnlyAccessLayers("routing")
          .whereLayer("enginemodel").mayOnlyBeAccessedByLayers("lab", "sim", "app")
          .whereLayer("lab").mayOnlyAccessLayers(
              "enginemodel", "scale", "programs", "prompt", "routing", "index", "telemetry", "time")
          .whereLayer("engines").mayOnlyAccessLayers("vllm", "http", "time")
          .whereLayer("engines").mayOnlyBeAccessedByLayers("discovery", "doctor", "app")
          .whereLayer("vllm").mayNotAccessAnyLayer()
          .whereLayer("vllm").mayOnlyBeAccessedByLayers("engines", "sim")
          .whereLayer("doctor").mayOnlyAccessLayers(
              "engines", "events", "prompt", "index", "routing", "execution", "http", "telemetry", "time")
          .whereLayer("doctor").mayOnlyBeAccessedByLayers("app")
          .whereLayer("sim").mayOnlyAccessLayers(
              "enginemodel", "events", "prompt", "routing", "index", "telemetry", "time", "vllm")
          .withOptionalLayers(true)
        .check(HOUSE);
  }

  @Test
  void noCircles() {
    slices().matching("io.kvasir.(**)").should().beFreeOfCycles()
        .check(HOUSE);
  }

  /** The classes of a room: no circles but those of class-circles.txt, each of which is still one. */
  @Test
  void noCirclesWithinRooms() throws IOException {
    ClassGraph graph = ClassGraph.of(HOUSE);
    List<Arrow> known = knownCircles();
    ClassGraph rest = graph.without(known);
    assertThat(rest.circles())
        .as("new circles between classes: turn one of these arrows (or, at worst, list it in class-circles.txt)")
        .isEmpty();
    assertThat(known)
        .filteredOn(arrow -> !graph.has(arrow) || rest.path(arrow.to(), arrow.from()).isEmpty())
        .as("arrows of class-circles.txt that do not exist or close no circle any more: delete these lines")
        .isEmpty();
  }

  private static List<Arrow> knownCircles() throws IOException {
    List<Arrow> arrows = new ArrayList<>();
    for (String line : Files.readAllLines(Path.of("src/test/resources/io/kvasir/class-circles.txt"))) {
      String text = line.replaceFirst("#.*", "").strip();
      if (!text.isEmpty()) {
        String[] ends = text.split(" -> ", 2);
        arrows.add(new Arrow("io.kvasir." + ends[0], "io.kvasir." + ends[1]));
      }
    }
    return arrows;
  }

  /** The rooms within the cells' room: each sees only what stands below it. */
  @Test
  void arrowsWithinCells() {
    layeredArchitecture()
          .consideringOnlyDependenciesInAnyPackage("io.kvasir.cell..")
          .layer("seen").definedBy("io.kvasir.cell")
          .layer("directory").definedBy("io.kvasir.cell.directory")
          .layer("events").definedBy("io.kvasir.cell.events")
          .layer("worker").definedBy("io.kvasir.cell.worker")
          .layer("standby").definedBy("io.kvasir.cell.standby")
          .layer("ledger").definedBy("io.kvasir.cell.ledger")
          .layer("view").definedBy("io.kvasir.cell.view")
          .layer("home").definedBy("io.kvasir.cell.home")
          .layer("client").definedBy("io.kvasir.cell.client")
          .whereLayer("seen").mayNotAccessAnyLayer()
          .whereLayer("directory").mayOnlyAccessLayers("seen")
          .whereLayer("events").mayNotAccessAnyLayer()
          .whereLayer("worker").mayOnlyAccessLayers("events", "seen")
          .whereLayer("standby").mayOnlyAccessLayers("directory", "events", "seen")
          .whereLayer("ledger").mayOnlyAccessLayers("worker", "seen")
          .whereLayer("view").mayOnlyAccessLayers("ledger", "worker", "events", "seen")
          .whereLayer("home").mayOnlyAccessLayers(
              "view", "ledger", "standby", "worker", "events", "directory", "seen")
          .whereLayer("client").mayNotBeAccessedByAnyLayer()
        .check(HOUSE);
  }

  @Test
  void cellsFromOutside() {
    ArchRuleDefinition.noClasses()
          .that().resideOutsideOfPackage("io.kvasir.cell..")
          .should().dependOnClassesThat().resideInAnyPackage(
              "io.kvasir.cell.directory..", "io.kvasir.cell.events..", "io.kvasir.cell.worker..",
              "io.kvasir.cell.standby..", "io.kvasir.cell.ledger..", "io.kvasir.cell.view..", "io.kvasir.cell.home..")
          .because("what the other rooms see of cells is in io.kvasir.cell")
        .check(HOUSE);
    ArchRuleDefinition.noClasses()
          .that().resideOutsideOfPackages("io.kvasir.cell..", "io.kvasir.app..")
          .should().dependOnClassesThat().resideInAPackage("io.kvasir.cell.*..")
          .because("only the wiring makes a node's way to the cells")
        .check(HOUSE);
  }

  /** The rooms within the gateway's, from what a request meets first; administration stands beside them. */
  @Test
  void arrowsWithinTheGateway() {
    layeredArchitecture()
          .consideringOnlyDependenciesInAnyPackage("io.kvasir.gateway..")
          .layer("handlers").definedBy("io.kvasir.gateway")
          .layer("error").definedBy("io.kvasir.gateway.error")
          .layer("body").definedBy("io.kvasir.gateway.body")
          .layer("forwarding").definedBy("io.kvasir.gateway.forwarding")
          .layer("request").definedBy("io.kvasir.gateway.request")
          .layer("keepalive").definedBy("io.kvasir.gateway.keepalive")
          .layer("traffic").definedBy("io.kvasir.gateway.traffic")
          .layer("admin").definedBy("io.kvasir.gateway.admin..")
          .whereLayer("error").mayNotAccessAnyLayer()
          .whereLayer("body").mayOnlyAccessLayers("error")
          .whereLayer("forwarding").mayOnlyAccessLayers("body", "error")
          .whereLayer("request").mayOnlyAccessLayers("forwarding", "body", "error")
          .whereLayer("keepalive").mayOnlyAccessLayers("error")
          .whereLayer("traffic").mayNotAccessAnyLayer()
          .whereLayer("admin").mayOnlyAccessLayers("traffic")
          .whereLayer("admin").mayNotBeAccessedByAnyLayer()
          .whereLayer("handlers").mayNotBeAccessedByAnyLayer()
        .check(HOUSE);
  }

  @Test
  void gatewayFromOutside() {
    ArchRuleDefinition.noClasses()
          .that().resideOutsideOfPackage("io.kvasir.gateway..")
          .should().dependOnClassesThat().resideInAnyPackage(
              "io.kvasir.gateway.error..", "io.kvasir.gateway.keepalive..")
          .because("how a request is refused and how its stream is kept alive is the gateway's own business")
        .check(HOUSE);
  }

  /** The rooms within the simulated engine's, from its face down to its server. */
  @Test
  void arrowsWithinTheSimulator() {
    layeredArchitecture()
          .consideringOnlyDependenciesInAnyPackage("io.kvasir.sim..")
          .layer("engine").definedBy("io.kvasir.sim")
          .layer("api").definedBy("io.kvasir.sim.api")
          .layer("operations").definedBy("io.kvasir.sim.operations")
          .layer("core").definedBy("io.kvasir.sim.core")
          .layer("text").definedBy("io.kvasir.sim.text")
          .layer("json").definedBy("io.kvasir.sim.json")
          .layer("settings").definedBy("io.kvasir.sim.settings")
          .layer("lmcache").definedBy("io.kvasir.sim.lmcache")
          .layer("transfer").definedBy("io.kvasir.sim.transfer")
          .layer("publisher").definedBy("io.kvasir.sim.publisher")
          .layer("http").definedBy("io.kvasir.sim.http")
          .whereLayer("http").mayNotAccessAnyLayer()
          .whereLayer("publisher").mayNotAccessAnyLayer()
          .whereLayer("transfer").mayOnlyAccessLayers("http")
          .whereLayer("lmcache").mayOnlyAccessLayers("http")
          .whereLayer("settings").mayOnlyAccessLayers("publisher", "transfer", "lmcache")
          .whereLayer("json").mayOnlyAccessLayers("http")
          .whereLayer("text").mayOnlyAccessLayers("json")
          .whereLayer("core").mayOnlyAccessLayers(
              "text", "json", "settings", "lmcache", "transfer", "publisher", "http")
          .whereLayer("operations").mayOnlyAccessLayers("core", "json", "settings", "transfer", "publisher", "http")
          .whereLayer("api").mayOnlyAccessLayers("operations", "core", "text", "json", "settings", "transfer", "http")
          .whereLayer("engine").mayNotBeAccessedByAnyLayer()
        .check(HOUSE);
  }

  @Test
  void simulatorFromOutside() {
    ArchRuleDefinition.noClasses()
          .that().resideOutsideOfPackage("io.kvasir.sim..")
          .should().dependOnClassesThat().resideInAnyPackage(
              "io.kvasir.sim.api..", "io.kvasir.sim.operations..", "io.kvasir.sim.core..", "io.kvasir.sim.text..",
              "io.kvasir.sim.json..")
          .because("an engine is started by its settings, and how it answers is its own business")
        .check(HOUSE);
  }

  @Test
  void onlyHashesOutsideTheIndex() {
    ArchRuleDefinition.noClasses()
          .that().resideInAnyPackage("io.kvasir.events..", "io.kvasir.prompt..", "io.kvasir.gateway..")
          .should().dependOnClassesThat().haveFullyQualifiedName("io.kvasir.index.BlockIndex")
          .because("events, prompt and gateway know the index's hash types only")
        .check(HOUSE);
  }

  /** Plugin jars are opened for the proof of profiles, and closed after it. */
  @Test
  void configurationIsData() {
    ArchRuleDefinition.noClasses()
          .that().resideInAPackage("io.kvasir.app.config..")
          .should().dependOnClassesThat(
              JavaClass.Predicates.resideInAPackage("io.kvasir..")
                  .and(JavaClass.Predicates.assignableTo(AutoCloseable.class))
                  .and(DescribedPredicate.not(JavaClass.Predicates.type(PluginJars.class))))
          .orShould().dependOnClassesThat().belongToAnyOf(Thread.class, Executor.class, HttpClient.class)
          .because("validating a configuration opens no socket and starts no thread: app.node builds what it describes")
        .check(HOUSE);
  }

  @Test
  void plainJava() {
    ArchRuleDefinition.noClasses()
          .that().resideInAnyPackage(
              "io.kvasir.index..", "io.kvasir.prompt..", "io.kvasir.routing..", "io.kvasir.lab..",
              "io.kvasir.enginemodel..", "io.kvasir.time..", "io.kvasir.admission..")
          .should().dependOnClassesThat().resideInAnyPackage("org.apache.pekko..")
          .because("the laboratory replays traces through these rooms without actors or HTTP")
        .check(HOUSE);
  }

  /** Whether a class belongs to the tests, wherever it was compiled to: some tools keep all classes in one place. */
  static boolean isTest(String path) {
    int from = path.lastIndexOf("/io/kvasir/");
    if (from < 0) {
      return false;
    }
    String source = path.substring(from + 1).replaceFirst("(\\$[^/]*)?\\.class$", ".java");
    return Files.exists(Path.of("src/test/java", source)) || Files.exists(Path.of("load-tests/java", source));
  }
}
