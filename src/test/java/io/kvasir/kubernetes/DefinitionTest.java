package io.kvasir.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import org.junit.jupiter.api.Test;

/** What the published definitions of inference pools have against objects. */
final class DefinitionTest {
  private static final ObjectMapper YAML = new ObjectMapper(new YAMLFactory());
  private static final Definition POOLS = Definition.published("inferencepools");

  @Test
  void object_isKeptWithDefaults_andWithoutFieldsThatNobodyKnows() throws Exception {
    ObjectNode pool = pool("{endpointPickerRef: {name: p, port: {number: 9002}}, later: {field: 1}}");
    assertThat(POOLS.faults(pool)).isEmpty();
    assertThat(POOLS.unknownFields(pool)).containsExactly("/spec/later");
    assertThat(POOLS.admitted(pool).path("spec"))
        .isEqualTo(
            YAML.readTree(
                """
                selector: {matchLabels: {app: vllm}}
                targetPorts: [{number: 8000}]
                endpointPickerRef: {name: p, port: {number: 9002}, group: "", kind: Service, failureMode: FailClose}
                appProtocol: http
                """));
  }

  @Test
  void faults_areNamedWithTheirPlace() throws Exception {
    assertThat(POOLS.faults(pool("{targetPorts: [{number: 1}, {number: 1}]}")))
        .singleElement().asString().startsWith("/spec/targetPorts").contains("port number must be unique");
    assertThat(POOLS.faults(pool("{targetPorts: [{number: 70000}]}")))
        .containsExactly("/spec/targetPorts/0/number: 70000 is not maximum 65535");
    assertThat(POOLS.faults(pool("{endpointPickerRef: {name: p}}")))
        .singleElement().asString().contains("port is required when kind is 'Service'");
    assertThat(POOLS.faults(pool("{endpointPickerRef: {name: p, kind: Other}}"))).isEmpty();
    assertThat(POOLS.faults(pool("{selector: {matchLabels: {app: -}}}")))
        .singleElement().asString().startsWith("/spec/selector/matchLabels/app");
    ObjectNode twice = pool("{}");
    String condition =
        "{type: Accepted, status: 'True', reason: R, message: m, lastTransitionTime: 2026-01-01T00:00:00Z}";
    twice.set(
        "status",
        YAML.readTree("parents: [{parentRef: {name: g}, conditions: [%s, %s]}]".formatted(condition, condition)));
    assertThat(POOLS.faults(twice))
        .singleElement().asString().startsWith("/status/parents/0/conditions").contains("x-kubernetes-list-map-keys");
  }

  @Test
  void groupToWhichObjectsHaveMoved_isThatOfTheirPoolsToo() throws Exception {
    Definition moved = Definition.published("inferenceobjectives").inGroup("llm-d.ai");
    assertThat(moved.resource()).isEqualTo(new ApiResource("llm-d.ai", "v1alpha2", "inferenceobjectives"));
    ObjectNode objective = (ObjectNode) YAML.readTree("{spec: {poolRef: {name: p}}}");
    assertThat(moved.admitted(objective).at("/spec/poolRef/group").asText()).isEqualTo("llm-d.ai");
  }

  /** A pool with these fields besides, or instead. */
  private static ObjectNode pool(String spec) throws Exception {
    ObjectNode pool =
        (ObjectNode) YAML.readTree("spec: {selector: {matchLabels: {app: vllm}}, targetPorts: [{number: 8000}]}");
    pool.withObject("/spec").setAll((ObjectNode) YAML.readTree(spec));
    return pool;
  }
}
