package io.kvasir;

import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Holds the house's arrows: who may import whom. */
final class RoomsTest {
  private static final JavaClasses HOUSE =
      new ClassFileImporter()
          .withImportOption(new DoNotIncludeTests())
          .withImportOption(location -> !isTest(location.asURI().getSchemeSpecificPart()))
          .importPackages("io.kvasir");

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
          .layer("execution").definedBy("io.kvasir.execution..")
          .layer("semantic").definedBy("io.kvasir.semantic..")
          .layer("gateway").definedBy("io.kvasir.gateway..")
          .layer("answers").definedBy("io.kvasir.answers..")
          .layer("lmcache").definedBy("io.kvasir.lmcache..")
          .layer("telemetry").definedBy("io.kvasir.telemetry..")
          .layer("sim").definedBy("io.kvasir.sim..")
          .layer("app").definedBy("io.kvasir.app..")
          .whereLayer("index").mayNotAccessAnyLayer()
          .whereLayer("telemetry").mayNotAccessAnyLayer()
          .whereLayer("events").mayOnlyAccessLayers("index", "telemetry")
          .whereLayer("prompt").mayOnlyAccessLayers("index", "telemetry")
          .whereLayer("routing").mayOnlyAccessLayers("index", "prompt", "telemetry")
          .whereLayer("cell").mayOnlyAccessLayers("routing", "index", "events", "telemetry")
          .whereLayer("discovery").mayOnlyAccessLayers("cell", "telemetry")
          .whereLayer("execution").mayOnlyAccessLayers("routing", "cell", "telemetry")
          .whereLayer("semantic").mayOnlyAccessLayers("routing", "telemetry")
          .whereLayer("semantic").mayOnlyBeAccessedByLayers("app")
          .whereLayer("answers").mayOnlyAccessLayers("telemetry")
          .whereLayer("answers").mayOnlyBeAccessedByLayers("gateway", "app")
          .whereLayer("lmcache").mayOnlyAccessLayers("events", "routing", "index", "telemetry")
          .whereLayer("lmcache").mayOnlyBeAccessedByLayers("app")
          .whereLayer("gateway").mayOnlyAccessLayers(
              "execution", "routing", "prompt", "cell", "index", "answers", "telemetry")
          .whereLayer("sim").mayOnlyAccessLayers("events", "prompt", "routing", "index", "telemetry")
          .withOptionalLayers(true)
        .check(HOUSE);
  }

  @Test
  void noCircles() {
    slices().matching("io.kvasir.(**)").should().beFreeOfCycles()
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

  @Test
  void plainJava() {
    ArchRuleDefinition.noClasses()
          .that().resideInAnyPackage("io.kvasir.index..", "io.kvasir.prompt..", "io.kvasir.routing..")
          .should().dependOnClassesThat().resideInAnyPackage("org.apache.pekko..")
          .because("the laboratory replays traces through these rooms without actors or HTTP")
        .check(HOUSE);
  }

  /** Whether a class belongs to the tests, wherever it was compiled to: some tools keep all classes in one place. */
  private static boolean isTest(String path) {
    int from = path.lastIndexOf("/io/kvasir/");
    if (from < 0) {
      return false;
    }
    String source = path.substring(from + 1).replaceFirst("(\\$[^/]*)?\\.class$", ".java");
    return Files.exists(Path.of("src/test/java", source)) || Files.exists(Path.of("load-tests/java", source));
  }
}
