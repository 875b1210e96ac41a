package io.kvasir.routing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.typesafe.config.ConfigFactory;
import io.kvasir.routing.cost.CostModel;
import io.kvasir.routing.cost.OutputLengths;
import io.kvasir.routing.plugins.BuiltInPlugins;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

final class ProfileCompilerTest {
  private static final Slot<String> LEFT = Slot.of("left", String.class);
  private static final Slot<String> RIGHT = Slot.of("right", String.class);
  private static final Slot<Double> STAYS = Slot.of("stays", Double.class);
  private static final Slot<String> ORPHAN = Slot.of("orphan", String.class);

  private final Routing routing = new Routing(1);

  @Test
  void compile_nothingOfOnesOwn_givesEveryFileOfConfProfiles() throws IOException {
    Set<String> files;
    try (Stream<Path> paths = Files.list(Path.of("conf", "profiles"))) {
      files =
          paths
              .map(path -> path.getFileName().toString().replace(".conf", ""))
              .filter(name -> !name.equals("built-in"))
              .collect(Collectors.toSet());
    }

    assertThat(routing.compile("").keySet())
        .contains("expected-cost", "least-loaded", "prefix-aware", "random", "round-robin")
        .containsExactlyInAnyOrderElementsOf(files);
    assertThat(routing.compile("").values()).allMatch(profile -> !profile.description().isEmpty());
  }

  @Test
  void builtInConf_listsEveryPlugin() throws IOException {
    String page = Files.readString(Path.of("conf", "profiles", "built-in.conf"));
    PluginRegistry registry = BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths());
    for (Stage stage : Stage.values()) {
      assertThat(page).contains("\n# " + stage.key() + "\n");
      for (String plugin : registry.names(stage)) {
        assertThat(page).contains("\n#   " + plugin + " ");
      }
    }
  }

  @Test
  void compile_oneNumberOfABuiltInProfile_changesOnlyThat() {
    TestFleet fleet = TestFleet.of(2);
    fleet.depth[0] = 20;
    fleet.queueMs[0] = 100;
    String patient = "expected-cost.score.kappa = 1000";

    assertThat(slot(routing.selector("expected-cost"), fleet)).isEqualTo(1);
    assertThat(slot(routing.selector("expected-cost", patient), fleet)).isEqualTo(0);
  }

  @Test
  void differences_areThoseFromTheProfileThatShips() {
    assertThat(routing.compile("").values())
        .allSatisfy(profile -> assertThat(profile.differences()).as(profile.name()).isEmpty());
    Map<String, Profile> profiles =
        routing.compile(
            """
            expected-cost { score { kappa = 1000, gamma = 0.30 }, execute.on-failure = fail }
            prefill-decode.workflow.decode.score.delta = 5
            least-loaded.score { plugin = expected-cost, kappa = 7 }
            """);

    assertThat(differences(profiles, "expected-cost"))
        .containsExactly(
            new SettingDifference("execute.on-failure", "next-candidate", "fail"),
            new SettingDifference("score.kappa", 3, 1000));
    assertThat(differences(profiles, "prefill-decode"))
        .containsExactly(new SettingDifference("workflow.decode.score.delta", 2, 5));
    assertThat(differences(profiles, "least-loaded"))
        .contains(new SettingDifference("score.kappa", null, 7))
        .anyMatch(each -> each.setting().equals("score.plugin") && Objects.equals(each.value(), "expected-cost"));
  }

  private static List<SettingDifference> differences(Map<String, Profile> profiles, String name) {
    return Objects.requireNonNull(Objects.requireNonNull(profiles.get(name)).differences());
  }

  @Test
  void differences_ofAProfileOfOnesOwn_areUnknown() {
    String own =
        """
        mine {
          prepare = [tokenize, block-hash], filter = [role, model, excluded, concurrency-limit], pick = random
          execute { plugin = forward }
        }
        """;
    assertThat(Objects.requireNonNull(routing.compile(own).get("mine")).differences()).isNull();
  }

  @Test
  void compile_anotherPluginInABuiltInProfile_doesNotInheritParameters() {
    String own =
        """
        expected-cost { score { plugin = least-load, by = kv }, execute { on-failure = fail } }
        """;

    assertThat(routing.selector("expected-cost", own).profile().executionPolicy().onFailure())
        .isEqualTo(FailurePolicy.FAIL);
  }

  @Test
  void compile_resumes_areThoseOfTheStepThatAnswers() {
    String own =
        """
        expected-cost { execute { resumes = 2 } }
        prefill-decode { workflow { decode { execute { resumes = 3 } } } }
        """;

    assertThat(routing.compile(own)).hasEntrySatisfying("expected-cost", has(2))
        .hasEntrySatisfying("prefill-decode", has(3)).hasEntrySatisfying("random", has(1));
    assertThatThrownBy(() -> routing.compile("random { execute { resumes = yes } }"))
        .hasMessageContaining("parameter \"resumes\"").hasMessageContaining("a whole number between 0 and 10");
  }

  private static Consumer<Profile> has(int resumes) {
    return profile -> assertThat(profile.resumes()).isEqualTo(resumes);
  }

  @Test
  void compile_stageOfABuiltInProfileSetToNull_isGone() {
    assertThat(routing.compile("least-loaded { score = null, pick = random }")).containsKey("least-loaded");
  }

  @Test
  void compile_manyFaults_reportsAllAtOnceWithLineAndRemedy() {
    assertThat(report(
        """
        mine {
          description = 7
          prepare = [ tokenise ]
          filter = [ role, model, max-score, exluded ]
          score = [
            { plugin = expected-csot, kappa = 4 }
            { plugin = expected-cost, kapa = 4, gamma = lots, weight = -1 }
            { plugin = least-load, by = moon, normalise = maybe }
            { by = kv }
          ]
          pick = [ max-score, random ]
          exekute = forward
        }
        Other = [ 1, 2 ]
        """))
        .isEqualTo(
            """
            15 faults in the routing profiles:

            1. profile "mine" (kvasir.conf:2)
               "description" is 7
               -> give a text

            2. profile "mine", plugin "tokenise" (kvasir.conf:3)
               there is no preparer of this name
               -> did you mean "tokenize"? The preparers are block-hash, client-wishes, hash-key, lmcache-lookup, \
            location, partner, semantic-cluster, session-key, tokenize

            3. profile "mine", plugin "max-score" (kvasir.conf:4)
               there is no filter of this name
               -> it is a picker: move it to "pick"

            4. profile "mine", plugin "exluded" (kvasir.conf:4)
               there is no filter of this name
               -> did you mean "excluded"? The filters are allow-list, concurrency-limit, \
            exclude-list, excluded, labels, model, overload, pair, role, saturation, semantic-cluster, \
            start-in-time, warm

            5. profile "mine", plugin "expected-csot" (kvasir.conf:6)
               there is no scorer of this name
               -> did you mean "expected-cost"? The scorers are additive-blocks, cache-affinity, cache-aware, \
            expected-cost, expected-cost-lmcache, external-metric, handover-cost, kv-room, least-load, lmcache-lookup, \
            lmcache-occupancy, lmetric, locality, longest-prefix, \
            lora-affinity, near-prefill, no-hit-lru, preble, random, session-affinity, tier-affinity, work-left

            6. profile "mine", plugin "expected-cost" (kvasir.conf:7)
               parameter "weight" is -1
               -> give a number between 0.000001 and 1000000

            7. profile "mine", plugin "expected-cost" (kvasir.conf:7)
               parameter "gamma" is "lots"
               -> give a number between 0 and 1000000

            8. profile "mine", plugin "expected-cost" (kvasir.conf:7)
               has no parameter "kapa"
               -> did you mean "kappa"? The parameters are backlog, delta, eviction, gamma, kappa

            9. profile "mine", plugin "least-load" (kvasir.conf:8)
               parameter "normalise" is "maybe"
               -> give one of none, min-max

            10. profile "mine", plugin "least-load" (kvasir.conf:8)
               parameter "by" is "moon"
               -> give one of requests, tokens, kv, queue

            11. profile "mine" (kvasir.conf:9)
               "score" has {"by":"kv"}, which names no plugin
               -> write a scorer's name, or { plugin = NAME, PARAMETER = VALUE }

            12. profile "mine" (kvasir.conf:11)
               names 2 pickers
               -> keep exactly one under "pick"

            13. profile "mine" (kvasir.conf:12)
               has no key "exekute"
               -> did you mean "execute"? The keys are description, prepare, filter, score, pick, execute, \
            otherwise, workflow

            14. profile "Other" (kvasir.conf:14)
               its name cannot be used in headers and metric labels
               -> use at most 40 lower-case letters, digits and hyphens

            15. profile "Other" (kvasir.conf:14)
               is [1,2]
               -> give an object with description, prepare, filter, score, pick, execute, otherwise, workflow
            """);
  }

  @Test
  void compile_emptyProfile_saysWhatEveryProfileNeeds() {
    assertThat(report("mine {}")).isEqualTo(
            """
            7 faults in the routing profiles:

            1. profile "mine" (kvasir.conf:1)
               names no picker
               -> add pick = NAME; the pickers are consistent-hash, max-score, power-of-two, random, \
            round-robin, session, weighted-random

            2. profile "mine" (kvasir.conf:1)
               names no executor
               -> add execute = NAME; the executors are forward

            3. profile "mine" (kvasir.conf:1)
               does not filter by excluded, so a retry could return to the worker that failed
               -> add excluded to "filter"

            4. profile "mine" (kvasir.conf:1)
               does not filter by model, so requests could reach a worker without their model
               -> add model to "filter"

            5. profile "mine" (kvasir.conf:1)
               does not filter by role, so a prefill-only worker could be sent decode requests
               -> add role to "filter"

            6. profile "mine" (kvasir.conf:1)
               nothing fills slot "prompt-tokens", which every decision reads to book load
               -> add tokenize to "prepare"

            7. profile "mine" (kvasir.conf:1)
               nothing fills slot "chain", which every decision reads to book load
               -> add block-hash to "prepare"
            """);
  }

  @Test
  void compile_scoresNobodyLooksAt_andPickerWithoutScores_areRefused() {
    assertThat(report(
        usual("blind", "score = cache-affinity, pick = round-robin")
            + usual("idle", "pick = max-score")))
        .isEqualTo(
            """
            2 faults in the routing profiles:

            1. profile "blind", plugin "round-robin" (kvasir.conf:5)
               does not read the scores that this profile computes
               -> remove "score", or pick with one that does, such as max-score

            2. profile "idle", plugin "max-score" (kvasir.conf:11)
               ranks by score, and nothing scores
               -> add "score"; the scorers are additive-blocks, cache-affinity, cache-aware, expected-cost, \
            expected-cost-lmcache, external-metric, handover-cost, kv-room, least-load, lmcache-lookup, \
            lmcache-occupancy, lmetric, locality, longest-prefix, lora-affinity, \
            near-prefill, no-hit-lru, preble, random, session-affinity, tier-affinity, work-left
            """);
  }

  @Test
  void compile_slots_provesDataFlowsForwards() {
    assertThat(
            String.join(
                "\n",
                slotReport("prepare = [ tokenize, block-hash, needs-orphan, left-from-right ]"),
                slotReport("prepare = [ tokenize, block-hash, left-from-right, right ]"),
                slotReport("prepare = [ tokenize, block-hash, left-from-right, right-from-left ]"),
                slotReport("prepare = [ tokenize, block-hash, left, right, left-from-right ]"),
                slotReport("prepare = [ block-hash, tokenize ]"),
                slotReport("prepare = [ tokenize ]")))
        .isEqualTo(
            """
            2 faults in the routing profiles:

            1. profile "mine", plugin "needs-orphan" (kvasir.conf:3)
               reads slot "orphan", which nothing fills
               -> remove it: there is no plugin that fills the slot

            2. profile "mine", plugin "left-from-right" (kvasir.conf:3)
               reads slot "right", which nothing fills
               -> add right or right-from-left before it

            1 fault in the routing profiles:

            1. profile "mine", plugin "left-from-right" (kvasir.conf:3)
               reads slot "right", which "right" fills only after it
               -> list "right" before "left-from-right"

            1 fault in the routing profiles:

            1. profile "mine", plugin "left-from-right" (kvasir.conf:3)
               reads slot "right", which in the end depends on itself: left-from-right needs right-from-left, \
            which needs left-from-right
               -> remove or replace one of them

            1 fault in the routing profiles:

            1. profile "mine", plugin "left-from-right" (kvasir.conf:3)
               fills slot "left", which "left" fills already
               -> keep one of the two

            1 fault in the routing profiles:

            1. profile "mine", plugin "block-hash" (kvasir.conf:3)
               reads slot "prompt-tokens", which "tokenize" fills only after it
               -> list "tokenize" before "block-hash"

            1 fault in the routing profiles:

            1. profile "mine" (kvasir.conf:3)
               nothing fills slot "chain", which every decision reads to book load
               -> add block-hash to "prepare"
            """);
  }

  @Test
  void compile_slotsThatStayWhereTheRequestArrived_mayNotBeReadElsewhere() {
    Scorer nosy = new Scorer() {
      @Override
      public void score(RoutingContext context, Candidates candidates, double[] out) {}

      @Override
      public Direction direction() {
        return Direction.LOWER;
      }

      @Override
      public Set<Slot<?>> reads() {
        return Set.of(Slots.FACTS, STAYS);
      }
    };
    ProfileCompiler compiler =
        compiler(preparer("stays", Set.of(Slots.FACTS), Set.of(STAYS)), PluginType.scorer("nosy", _ -> nosy));

    assertThat(
            faults(
                () ->
                    compiler.compile(
                        Routing.config(
                            """
                            mine {
                              prepare = [ tokenize, block-hash, stays ]
                              filter = [ role, model, excluded ]
                              score = nosy
                              pick = max-score
                              execute = forward
                            }
                            """))))
        .isEqualTo(
            """
            2 faults in the routing profiles:

            1. profile "mine", plugin "nosy" (kvasir.conf:4)
               reads slot "request-facts", which stays on the node where the request arrived
               -> add a preparer that puts the needed part into a slot of type String, Long or Chain

            2. profile "mine", plugin "nosy" (kvasir.conf:4)
               reads slot "stays", which stays on the node where the request arrived
               -> add a preparer that puts the needed part into a slot of type String, Long or Chain
            """);
  }

  @Test
  void compile_faultInAFile_namesTheFile() throws IOException {
    Path file = Files.createTempFile("profiles", ".conf");
    try {
      Files.writeString(file, "mine {\n  pick = max-scor\n}\n");

      InvalidProfilesException e =
          catchThrowableOfType(
              InvalidProfilesException.class,
              () -> compiler().compile(ConfigFactory.parseFile(file.toFile())));

      assertThat(e.faults()).anyMatch(
          fault -> fault.place().equals(new ConfigPlace(file.toString(), 2)) && "max-scor".equals(fault.plugin())
              && fault.remedy().startsWith("did you mean \"max-score\"?"));
    } finally {
      Files.delete(file);
    }
  }

  @Test
  void compile_faultLaidOverABuiltInProfile_namesTheLineOfOnesOwn() {
    assertThat(report(
        """
        expected-cost {
          score {
            kappa = many
            kapa = 4
          }
          pick = round-robin
        }
        prefix-aware { score { plugin = least-load, saturation = 7 } }
        """))
        .isEqualTo(
            """
            4 faults in the routing profiles:

            1. profile "expected-cost", plugin "expected-cost" (kvasir.conf:3)
               parameter "kappa" is "many"
               -> give a number between 0 and 1000000

            2. profile "expected-cost", plugin "expected-cost" (kvasir.conf:4)
               has no parameter "kapa"
               -> did you mean "kappa"? The parameters are backlog, delta, eviction, gamma, kappa

            3. profile "expected-cost", plugin "round-robin" (kvasir.conf:6)
               does not read the scores that this profile computes
               -> remove "score", or pick with one that does, such as max-score

            4. profile "prefix-aware", plugin "least-load" (kvasir.conf:8)
               has no parameter "saturation"
               -> the parameters are by
            """);
  }

  @Test
  void registry_twoPluginsOfOneName_isRefused() {
    PluginType<Preparer> left = preparer("left", Set.of(), Set.of(LEFT));

    assertThatThrownBy(() -> compiler(left, left))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("\"left\"");
  }

  @Test
  void slot_twoOfOneName_isRefused() {
    assertThatThrownBy(() -> Slot.of("left", Integer.class)).hasMessageContaining("share its constant");
  }

  private static int slot(Selector selector, TestFleet fleet) {
    return ((Selection.Chosen) selector.select(fleet, Routing.request(20, 16, 330))).slot();
  }

  private static String usual(String name, String stages) {
    return """
        %s {
          prepare = [ tokenize, block-hash ]
          filter = [ role, model, excluded ]
          execute = forward
          %s
        }
        """
        .formatted(name, stages);
  }

  private String report(String profiles) {
    return faults(() -> routing.compile(profiles));
  }

  private static String slotReport(String prepare) {
    ProfileCompiler compiler =
        compiler(
            preparer("left", Set.of(), Set.of(LEFT)),
            preparer("right", Set.of(), Set.of(RIGHT)),
            preparer("left-from-right", Set.of(RIGHT), Set.of(LEFT)),
            preparer("right-from-left", Set.of(LEFT), Set.of(RIGHT)),
            preparer("needs-orphan", Set.of(ORPHAN), Set.of()));
    String profile =
        "mine {\n  filter = [ role, model, excluded ]\n  " + prepare + "\n  pick = random\n  execute = forward\n}\n";
    return faults(() -> compiler.compile(Routing.config(profile)));
  }

  private static String faults(ThrowingCallable compilation) {
    return String.valueOf(catchThrowableOfType(InvalidProfilesException.class, compilation).getMessage());
  }

  private static ProfileCompiler compiler(PluginType<?>... more) {
    return new ProfileCompiler(BuiltInPlugins.registry(CostModel.bundled(), new OutputLengths(), more));
  }

  private static PluginType<Preparer> preparer(String name, Set<Slot<?>> reads, Set<Slot<?>> writes) {
    return PluginType.preparer(
        name,
        _ ->
            new Preparer() {
              @Override
              public void prepare(RoutingContext context) {}

              @Override
              public Set<Slot<?>> reads() {
                return reads;
              }

              @Override
              public Set<Slot<?>> writes() {
                return writes;
              }
            });
  }
}
