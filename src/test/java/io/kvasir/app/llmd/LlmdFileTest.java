package io.kvasir.app.llmd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kvasir.app.config.ConfigException;
import io.kvasir.app.config.KvasirConfig;
import io.kvasir.llmd.TranslatedPart.Verdict;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The examples in src/test/resources/llmd and what they are in Kvasir: each .conf is the translation of the .yaml
 * beside it, and a configuration that the product accepts. {@code kvasir validate --llm-d} writes them anew.
 */
final class LlmdFileTest {
  private static final Path EXAMPLES = Path.of("src/test/resources/llmd");

  @ParameterizedTest
  @ValueSource(
      strings = {
        "weighted", "sticky", "precise", "prefill-decode", "encode-prefill-decode", "flow-control",
        "profiles-by-header", "no-profiles", "without-counterpart"
      })
  void example_isTranslated_andAccepted(String name) throws IOException, ConfigException {
    LlmdFile file = LlmdFile.of(name + ".yaml", Files.readString(EXAMPLES.resolve(name + ".yaml")));
    Path golden = EXAMPLES.resolve(name + ".conf");
    assertThat(file.text()).isEqualTo(Files.readString(golden));
    KvasirConfig accepted = KvasirConfig.withoutEnvironment(file.config());
    assertThat(accepted.routing().profile()).isEqualTo(file.translation().profile());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          kind: InferencePool | kind | EndpointPickerConfig
          kind: ConfigMap | kind | file of its own
          apiVersion: llm-d.ai/v2 | apiVersion | llm-d.ai/v1alpha1
          plugins: [{type: queue-scorer}, {type: queue-scorer}] | plugins[1].name | two plugins
          plugins: [{parameters: {a: 1}}] | plugins[0].type | missing
          plugins: [{type: our-own-scorer}] | plugins[0].type | our-own-scorer
          plugins: [{type: queue-scorer, weight: 2}] | plugins[0].weight | no field
          plugins: queue-scorer | plugins | list
          schedulingProfile: [] | schedulingProfile | no field
          schedulingProfiles: [{name: a, plugins: [{pluginRef: b}]}] | plugins[0].pluginRef | 'b'
          schedulingProfiles: [{name: a}, {name: a}] | schedulingProfiles[1].name | two profiles
          schedulingProfiles: [{plugins: []}] | schedulingProfiles[0].name | missing
          schedulingProfiles: [{name: a}, {name: b}] | schedulingProfiles | 2 profiles
          plugins: [{type: single-profile-handler}, {type: pd-profile-handler}] | plugins | several profile handlers
          plugins: [{type: disagg-profile-handler, parameters: {deciders: {prefill: x}}}] | deciders.prefill | 'x'
          plugins: [{type: prefix-cache-affinity-filter, parameters: {affinityThreshold: 2}}] | Threshold | from 0 to 1
          plugins: [{type: by-label-selector, parameters: {matchExpressions: [{operator: Gt}]}}] | operator | NotIn
          plugins: [{type: utilization-filter, parameters: {conditions: [{metric: heat}]}}] | metric | waiting-queue
          flowControl: {saturationDetector: {pluginRef: nobody}} | flowControl.saturationDetector.pluginRef | 'nobody'
          dataLayer: {sources: [{pluginRef: nobody}]} | dataLayer.sources[0].pluginRef | 'nobody'
          flowControl: {maxByte: 1} | flowControl.maxByte | no field
          flowControl: {defaultRequestTTL: soon} | defaultRequestTTL | 1m30s
          flowControl: {maxBytes: much} | flowControl.maxBytes | 4Gi
          flowControl: {priorityBands: [{maxRequests: -1}]} | [0].maxRequests | 500
          """)
  void faulty_isRefused_withPlaceAndRemedy(String lines, String part, String remedy) {
    assertThatThrownBy(() -> LlmdFile.of("epp.yaml", whole(lines)))
        .isInstanceOfSatisfying(
            ConfigException.class,
            refused ->
                assertThat(refused.faults())
                    .anySatisfy(
                        fault -> {
                          assertThat(fault.path()).endsWith(part);
                          assertThat(fault.problem()).contains(remedy);
                          assertThat(fault.place().file()).isEqualTo("epp.yaml");
                          assertThat(fault.place().line()).isPositive();
                        }));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          defaultRequestTTL: 1m30s | default.longest-wait | 90 s
          defaultRequestTTL: 0s | default.longest-wait |
          defaultRequestTTL: 10s | default.starvation | 10 s
          maxRequests: 100 | interactive.max-waiting-per-tenant | 100
          defaultPriorityBand: {maxRequests: 2k} | interactive.max-waiting | 2000
          defaultNegativePriorityBand: {maxRequests: 2k} | bulk.max-waiting | 2000
          priorityBands: [{priority: 1, maxBytes: 1Gi}, {maxBytes: 1Mi, priority: 2}] | interactive.max-bytes | 1025 MiB
          priorityBands: [{priority: -1, maxRequests: 7}, {priority: -2}] | bulk.max-waiting |
          """)
  void flowControl_isAdmission(String line, String setting, @Nullable String expected) throws ConfigException {
    LlmdFile file =
        LlmdFile.of("epp.yaml", whole("flowControl: {%s}".formatted(line)));
    Object set = file.translation().settings().get("admission.classes." + setting);
    assertThat(set == null ? null : set.toString()).isEqualTo(expected);
    assertThat(KvasirConfig.withoutEnvironment(file.config()).fleet().cell().admission().on()).isTrue();
  }

  @Test
  void requestsWithoutWorkers_waitAsLongAsThere() throws ConfigException {
    LlmdFile file = LlmdFile.of("epp.yaml", whole("flowControl: {noEndpointRequestTTL: 500ms}"));
    assertThat(KvasirConfig.withoutEnvironment(file.config()).fleet().cell().admission().waitForWorkers())
        .hasMillis(500);
  }

  @Test
  void severalFaults_areAllTold() {
    String text = "apiVersion: v1\nkind: Pod\nplugins:\n- type: abacus\n- name: x\nschedulingProfiles:\n- plugins: 7\n";
    assertThatThrownBy(() -> LlmdFile.of("epp.yaml", text))
        .isInstanceOf(ConfigException.class)
        .hasMessageContainingAll(
            "epp.yaml:1: apiVersion", "epp.yaml:2: kind", "epp.yaml:4: plugins[0].type", "epp.yaml:5: plugins[1].type",
            "epp.yaml:7: schedulingProfiles[0].name", "epp.yaml:7: schedulingProfiles[0].plugins");
  }

  @Test
  void faultsOfParameters_areToldWithThoseOfTheFile() {
    String text =
        whole(
            """
            plugins:
            - {type: abacus, type: abacus}
            - {type: max-score-picker, parameters: {maxNumOfEndpoints: many}}
            - {type: precise-prefix-cache-producer, parameters: {tokenProcessorConfig: {blockSize: -1}}}
            featureGates: [flowControl]
            flowControl: {defaultRequestTTL: soon}
            dataLayer: {discovery: {endpoints: {pluginRef: nobody}}}
            schedulingProfiles: [{name: a, plugins: [{pluginRef: max-score-picker}]}]
            """);
    assertThatThrownBy(() -> LlmdFile.of("epp.yaml", text))
        .isInstanceOf(ConfigException.class)
        .hasMessageContainingAll(
            "epp.yaml:4: plugins[0].type: is written twice", "'abacus' is no plugin", "maxNumOfEndpoints: has to be",
            "blockSize: is -1", "flowControl.defaultRequestTTL", "dataLayer.discovery.endpoints.pluginRef");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          featureGates: [prepareDataPlugins] | NEEDLESS | featureGates: prepareDataPlugins
          featureGates: [dataLayer] | NEEDLESS | featureGates: dataLayer
          featureGates: [dream] | MISSING | featureGates: dream
          dataLayer: {crossReplica: {syncInterval: 1s}} | NEEDLESS | dataLayer.crossReplica
          dataLayer: {crossReplicaPublishTimeout: 1s} | NEEDLESS | dataLayer.crossReplicaPublishTimeout
          data: {peerDiscovery: {}} | NEEDLESS | data.peerDiscovery
          """)
  void partOfAnyVersion_isNamed(String line, Verdict verdict, String part) throws ConfigException {
    assertThat(LlmdFile.of("epp.yaml", whole(line)).translation().findings(verdict))
        .extracting(finding -> finding.part())
        .containsExactly(part);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "- a\n- b\n", "a: [b\n", "a: b\n---\nc: d\n", "a: &x [*x, *x]\n", "\u0000"})
  void noSuchFile_isRefused(String text) {
    assertThatThrownBy(() -> LlmdFile.of("epp.yaml", text)).isInstanceOf(ConfigException.class);
  }

  @Test
  void everyPluginTypeOfAFile_isAccountedFor() throws IOException, ConfigException {
    LlmdFile file =
        LlmdFile.of("x.yaml", Files.readString(EXAMPLES.resolve("without-counterpart.yaml")));
    assertThat(file.translation().findings(Verdict.MISSING))
        .extracting(finding -> finding.part())
        .contains("context-length-aware", "latency-slo-admitter", "prefix-cache-scorer: prefixLengthWeight");
    assertThat(file.translation().findings())
        .allSatisfy(finding -> assertThat(finding.line()).isPositive())
        .allSatisfy(finding -> assertThat(finding.sentence()).isNotBlank());
  }

  @Test
  void aPluginTwice_isTwoFindings_andUnreadParametersAreNamed() throws ConfigException {
    LlmdFile file =
        LlmdFile.of(
            "x.yaml",
            whole("plugins: [{name: a, type: queue-scorer, parameters: {depth: 3}}, {name: b, type: queue-scorer}]"));
    assertThat(file.translation().findings())
        .extracting(finding -> finding.part())
        .containsExactlyInAnyOrder("a (queue-scorer)", "a (queue-scorer): depth", "b (queue-scorer)");
  }

  /** Whatever is changed in a file, it is refused with reasons, or its translation is accepted. */
  @ParameterizedTest
  @ValueSource(strings = {"", "7", "{}", "&a [*a]"})
  void anythingElseInAnyLine_isRefused_orTranslatedAndAccepted(String value) throws IOException, ConfigException {
    int variant = 0;
    for (String name : List.of("precise", "prefill-decode", "profiles-by-header")) {
      List<String> lines = Files.readAllLines(EXAMPLES.resolve(name + ".yaml"));
      for (int i = 0; i < lines.size(); i++) {
        List<String> changed = new ArrayList<>(lines);
        changed.set(i, value.isEmpty() ? "" : lines.get(i).replaceFirst("(: ?|- ).*", "$1 " + value));
        LlmdFile file = translated(String.join("\n", changed));
        // Reading a configuration takes far longer than a translation, so some of them have to do.
        if (file != null && variant++ % 64 == 0) {
          assertThat(KvasirConfig.withoutEnvironment(file.config())).as(file.text()).isNotNull();
        }
      }
    }
  }

  private static @Nullable LlmdFile translated(String text) {
    try {
      return LlmdFile.of("epp.yaml", text);
    } catch (ConfigException refused) {
      assertThat(refused.faults()).isNotEmpty();
      return null;
    }
  }

  /** A file with these lines, and what they leave out of the two that every file begins with. */
  private static String whole(String lines) {
    return (lines.startsWith("apiVersion:") ? "" : "apiVersion: llm-d.ai/v1alpha1\n")
        + (lines.startsWith("kind:") ? "" : "kind: EndpointPickerConfig\n")
        + (lines.startsWith("plugins:") ? "" : "plugins: []\n")
        + (lines.startsWith("flowControl:") ? "featureGates: [flowControl]\n" : "")
        + lines;
  }
}
