package io.kvasir.app.node;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.ConfigFactory;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.gateway.admin.ProfileFigures;
import io.kvasir.gateway.admin.ProfilesHandler;
import io.kvasir.gateway.admin.TestAdmin;
import io.kvasir.gateway.admin.vitals.VitalFigure;
import io.kvasir.routing.Profile;
import io.kvasir.telemetry.MetricWindow;
import io.kvasir.telemetry.Metrics;
import io.kvasir.telemetry.Problem;
import io.kvasir.telemetry.TestMetrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Objects;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Profiles that change while a node runs: by the admin call, and by looking at the files. */
final class ProfileReloaderTest {
  private static final ProfileFigures FIGURES =
      new ProfileFigures(
          new MetricWindow(
              new Metrics(new PrometheusRegistry()), VitalFigure.METRICS, Duration.ofSeconds(10), NanoClock.SYSTEM));

  private static final String MINE =
      """
      mine {
        prepare = [ tokenize, block-hash ]
        filter = [ role, model, excluded ]
        pick = %s
        execute = forward
      }
      """;

  private final PrometheusRegistry registry = new PrometheusRegistry();
  @TempDir private Path directory = Path.of("");
  private long nanos;
  private long written;
  private RoutingAssembly routing;
  private ProfileReloader reload;

  @BeforeEach
  void start() throws Exception {
    write("profiles.conf", MINE.formatted("random"));
    write("router.conf", "kvasir.routing { reload-interval = 0 s, profiles { include \"profiles.conf\" } }");
    start(KvasirConfig.load(directory.resolve("router.conf")));
  }

  @AfterEach
  void stop() {
    reload.close();
    routing.close();
  }

  @Test
  void reload_nothingNew_saysSo() throws Exception {
    JsonNode answer = call("POST", "/admin/profiles/reload", 200);

    assertThat(answer.get("result").textValue()).isEqualTo("unchanged");
    assertThat(reloads("unchanged")).isEqualTo(1);
  }

  @Test
  void reload_changes_takesThemUpAndKeepsTheOthers() throws Exception {
    Profile standard = profile("expected-cost");
    write("profiles.conf", MINE.formatted("round-robin") + MINE.formatted("random").replace("mine", "other"));
    write("router.conf", "kvasir.routing { profile = mine, profiles { include \"profiles.conf\" } }");
    nanos += 5_000_000_000L;

    JsonNode answer = call("POST", "/admin/profiles/reload", 200);

    assertThat(answer).isEqualTo(new ObjectMapper().readTree(
        """
        {"result":"changed","added":["other"],"removed":[],"changed":["mine"],"choice_changed":true}"""));
    assertThat(routing.profiles().current().choice().standard()).isEqualTo("mine");
    assertThat(profile("mine").parts()).anyMatch(part -> part.plugin().equals("round-robin"));
    assertThat(profile("expected-cost")).isSameAs(standard);
    assertThat(reloads("changed")).isEqualTo(1);
    assertThat(age()).isZero();
    nanos += 3_000_000_000L;
    assertThat(age()).isEqualTo(3);
  }

  @Test
  void reload_profileThatIsGone_isGone() throws Exception {
    write("router.conf", "");

    assertThat(call("POST", "/admin/profiles/reload", 200).at("/removed/0").textValue()).isEqualTo("mine");
    assertThat(routing.profiles().current().named("mine")).isNull();
  }

  @Test
  void reload_includedFileThatIsGone_isTold_untilItIsThere() throws Exception {
    Files.delete(directory.resolve("profiles.conf"));

    assertThat(call("POST", "/admin/profiles/reload", 200).at("/removed/0").textValue()).isEqualTo("mine");
    assertThat(reload.problems()).singleElement().extracting(Problem::line).asString().contains("profiles.conf");

    write("profiles.conf", MINE.formatted("random"));
    assertThat(call("POST", "/admin/profiles/reload", 200).at("/added/0").textValue()).isEqualTo("mine");
    assertThat(reload.problems()).isEmpty();
  }

  @Test
  void reload_faults_areAllToldAndNothingChanges() throws Exception {
    Profile before = profile("mine");
    write("profiles.conf", MINE.formatted("randm").replace("block-hash", "block-hsh"));
    write(
        "router.conf",
        """
        kvasir.routing {
          profile = expected-cost
          models { "Qwen/Qwen3-32B" = fastest }
          tenants { a = best }
          profiles { include "profiles.conf" }
        }
        """);

    JsonNode faults = call("POST", "/admin/profiles/reload", 422).at("/error/faults");

    assertThat(StreamSupport.stream(faults.spliterator(), false).map(fault -> fault.path("plugin").asText()))
        .contains("randm", "block-hsh");
    JsonNode picker =
        StreamSupport.stream(faults.spliterator(), false)
            .filter(fault -> fault.path("plugin").asText().equals("randm")).findFirst().orElseThrow();
    assertThat(picker.get("profile").textValue()).isEqualTo("mine");
    assertThat(picker.get("file").textValue()).endsWith("profiles.conf");
    assertThat(picker.get("line").intValue()).isEqualTo(4);
    assertThat(picker.get("message").textValue()).isEqualTo("there is no picker of this name");
    assertThat(picker.get("remedy").textValue()).startsWith("did you mean \"random\"?");
    assertThat(profile("mine")).isSameAs(before);
    assertThat(reloads("refused")).isEqualTo(1);
    assertThat(reload.problems()).singleElement().extracting(Problem::line).asString().contains("2 faults");
  }

  @Test
  void reload_choiceOfUnknownProfiles_isRefusedWithTheirLines() throws Exception {
    write(
        "router.conf",
        """
        kvasir.routing {
          models { "Qwen/Qwen3-32B" = fastest }
          tenants { a = best }
          allow-profile-headr = true
        }
        """);

    JsonNode faults = call("POST", "/admin/profiles/reload", 422).at("/error/faults");

    assertThat(faults).extracting(fault -> fault.get("field").textValue()).containsExactlyInAnyOrder(
        "kvasir.routing.models.Qwen/Qwen3-32B", "kvasir.routing.tenants.a", "kvasir.routing.allow-profile-headr");
    assertThat(faults).extracting(fault -> fault.get("line").intValue()).containsExactlyInAnyOrder(2, 3, 4);
    assertThat(faults.get(0).get("message").textValue()).contains("there is no profile 'fastest'", "expected-cost");
  }

  @Test
  void reload_fileThatIsNoHocon_isRefused() throws Exception {
    write("profiles.conf", "mine {");

    JsonNode fault = call("POST", "/admin/profiles/reload", 422).at("/error/faults/0");

    assertThat(fault.get("file").textValue()).endsWith("profiles.conf");
    assertThat(routing.profiles().current().named("mine")).isNotNull();
  }

  @Test
  void reload_afterAFaultIsMended_isNoLongerDegraded() throws Exception {
    write("profiles.conf", "mine {");
    call("POST", "/admin/profiles/reload", 422);
    write("profiles.conf", MINE.formatted("random"));

    assertThat(call("POST", "/admin/profiles/reload", 200).get("result").textValue()).isEqualTo("unchanged");
    assertThat(reload.problems()).isEmpty();
  }

  @Test
  void look_includedFileChanges_isTakenUpWhenItHasStayedTheSame() throws Exception {
    write("profiles.conf", MINE.formatted("round-robin"));
    reload.reloadIfChanged();
    assertThat(reloads("changed")).isZero();
    write("profiles.conf", MINE.formatted("round-robin") + "\n");
    reload.reloadIfChanged();
    assertThat(reloads("changed")).isZero();
    reload.reloadIfChanged();
    assertThat(reloads("changed")).isEqualTo(1);
    reload.reloadIfChanged();
    reload.reloadIfChanged();
    assertThat(reloads("changed") + reloads("unchanged")).isEqualTo(1);
  }

  /** A start takes seconds, in which the other nodes may have read the files already. */
  @Test
  void look_changeWhileTheNodeStarts_isTakenUp() throws Exception {
    reload.close();
    routing.close();
    registry.clear();
    KvasirConfig config = KvasirConfig.load(directory.resolve("router.conf"));
    write("profiles.conf", MINE.formatted("round-robin"));
    start(config);
    reload.reloadIfChanged();
    reload.reloadIfChanged();
    assertThat(reloads("changed")).isEqualTo(1);
    assertThat(profile("mine").parts()).anyMatch(part -> part.plugin().equals("round-robin"));
  }

  @Test
  void reload_keepsWhatACommandGives_unlessTheFileHasIt() throws Exception {
    reload.close();
    routing.close();
    registry.clear();
    String given = "kvasir.routing { profile = given, profiles { " + MINE.replace("mine", "given") + " } }";
    Path file = directory.resolve("router.conf");
    start(KvasirConfig.load(file, ConfigFactory.parseString(given.formatted("random"))));
    assertThat(routing.profiles().current().choice().standard()).isEqualTo("given");
    write("profiles.conf", MINE.formatted("round-robin"));
    assertThat(call("POST", "/admin/profiles/reload", 200).at("/changed")).hasSize(1);
    assertThat(routing.profiles().current().choice().standard()).isEqualTo("given");
    write("router.conf", "kvasir.routing.profile = expected-cost");
    call("POST", "/admin/profiles/reload", 200);
    assertThat(routing.profiles().current().choice().standard()).isEqualTo("expected-cost");
    assertThat(profile("given")).isNotNull();
  }

  @Test
  void look_faultyFile_isToldOnceAndMendedLater() throws Exception {
    write("profiles.conf", "mine {");
    for (int i = 0; i < 4; i++) {
      reload.reloadIfChanged();
    }
    assertThat(reloads("refused")).isEqualTo(1);
    write("profiles.conf", MINE.formatted("round-robin"));
    reload.reloadIfChanged();
    reload.reloadIfChanged();
    assertThat(reloads("changed")).isEqualTo(1);
  }

  @Test
  void look_faultyFileThatIsNewlyIncluded_isMendedLater() throws Exception {
    write("router.conf", "kvasir.routing.profiles { include \"profiles.conf\", include \"more.conf\" }");
    write("more.conf", "other {");
    reload.reloadIfChanged();
    reload.reloadIfChanged();
    assertThat(reloads("refused")).isEqualTo(1);
    write("more.conf", MINE.formatted("random").replace("mine", "other"));
    reload.reloadIfChanged();
    reload.reloadIfChanged();
    assertThat(reloads("changed")).isEqualTo(1);
    assertThat(profile("other")).isNotNull();
  }

  @Test
  void look_requiredFileThatIsMissing_isReadOnceItIsThere() throws Exception {
    write("router.conf", "kvasir.routing.profiles { include required(\"more.conf\") }");
    reload.reloadIfChanged();
    reload.reloadIfChanged();
    assertThat(reloads("refused")).isEqualTo(1);
    write("more.conf", MINE.formatted("random").replace("mine", "other"));
    reload.reloadIfChanged();
    reload.reloadIfChanged();
    assertThat(reloads("changed")).isEqualTo(1);
  }

  @Test
  void reload_withoutAFile_saysThatThereIsNone() throws Exception {
    reload.close();
    registry.clear();
    start(KvasirConfig.of(ConfigFactory.empty()));

    assertThat(call("POST", "/admin/profiles/reload", 409).at("/error/message").textValue())
        .contains("not started from a configuration file");
  }

  @Test
  void get_showsStagesParametersAndWhoFillsWhat() throws Exception {
    JsonNode shown = call("GET", "/admin/profiles", 200);

    assertThat(shown.at("/choice/standard").textValue()).isEqualTo("expected-cost");
    JsonNode hashing = profile(shown, "consistent-hash");
    assertThat(hashing.at("/stages/prepare/2/plugin").textValue()).isEqualTo("hash-key");
    assertThat(hashing.at("/stages/prepare/2/parameters/blocks").intValue()).isEqualTo(2);
    assertThat(hashing.at("/stages/prepare/2/from").textValue()).contains("consistent-hash.conf:");
    assertThat(hashing.get("slots").toString())
        .contains("{\"slot\":\"hash-key\",\"written_by\":[\"hash-key\"],\"read_by\":[\"consistent-hash\"]}");
    assertThat(profile(shown, "least-loaded").path("differences").isArray()).isTrue();
    assertThat(profile(shown, "least-loaded").path("differences")).isEmpty();
    assertThat(profile(shown, "mine").has("differences")).isFalse();
    JsonNode sum = profile(shown, "weighted-sum");
    assertThat(sum.at("/stages/score/0/weight").intValue()).isEqualTo(3);
    assertThat(sum.at("/stages/score/0/normalise").textValue()).isEqualTo("none");
    assertThat(profile(shown, "mine").at("/stages/pick/0/from").textValue()).endsWith("profiles.conf:4");
    assertThat(profile(shown, "prefill-decode").at("/steps/decode/stages/prepare/2/plugin").textValue())
        .isEqualTo("partner");
  }

  @Test
  void otherPathsAndMethods_areTold() throws Exception {
    assertThat(call("DELETE", "/admin/profiles", 405).at("/error/message").textValue()).contains("GET");
    assertThat(call("GET", "/admin/profiles/reload", 405).at("/error/message").textValue()).contains("POST");
    assertThat(call("GET", "/admin/profiles/x", 404).at("/error/message").textValue()).contains("/admin/profiles");
  }

  private void start(KvasirConfig config) throws StartException {
    routing = new RoutingAssembly(config);
    reload = new ProfileReloader(config, routing, new Metrics(registry), () -> nanos);
  }

  private Profile profile(String name) {
    return Objects.requireNonNull(routing.profiles().current().named(name));
  }

  private static JsonNode profile(JsonNode shown, String name) {
    return StreamSupport.stream(shown.get("profiles").spliterator(), false)
        .filter(profile -> profile.get("name").textValue().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** Each writing has a time of its own, however coarse the file system's are. */
  private void write(String name, String text) throws IOException {
    Path file = Files.writeString(directory.resolve(name), text);
    Files.setLastModifiedTime(file, FileTime.fromMillis(1_700_000_000_000L + 1000 * written++));
  }

  private double reloads(String result) {
    return TestMetrics.sum(registry, "kvasir_profiles_reloads", result);
  }

  private double age() {
    return TestMetrics.sum(registry, "kvasir_profiles_age_seconds");
  }

  private JsonNode call(String method, String target, int status) throws IOException {
    return TestAdmin.call(new ProfilesHandler(reload, FIGURES), method, target, "", status);
  }
}
