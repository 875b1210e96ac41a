package io.kvasir.discovery;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import io.kvasir.engines.EngineAddress;
import io.kvasir.engines.TransferDescription;
import io.kvasir.kubernetes.ObjectKey;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class KubernetesPodTest {
  private static final Config DEFAULTS =
      ConfigFactory.parseString("events { endpoint = \"tcp://{ip}:5557\", topic = \"kv@{ip}\" }, models = [m]");

  private static final PodEndpoint OWN = new PodEndpoint(new ObjectKey("n", "vllm-0"), "vllm-0", 0, 0, Set.of());

  @Test
  void portOfAPool_isTheEndpointsOwn_andItsEventsAreAtPortsOfTheirOwn() throws IOException {
    Set<String> pools = new TreeSet<>(Set.of("n/a", "n/b"));
    PodEndpoint second = new PodEndpoint(new ObjectKey("n", "vllm-0"), "vllm-0:8001", 8001, 1, pools);
    Config pod = pod("10.1.2.3", "\"kvasir.io/port\": \"9\"").toPodConfig(second, List.of(), DEFAULTS);
    assertThat(pod.getString("name")).isEqualTo("vllm-0:8001");
    assertThat(pod.getString("url")).isEqualTo("http://10.1.2.3:8001");
    assertThat(pod.getString("events.endpoint")).isEqualTo("tcp://10.1.2.3:5558");
    assertThat(pod.getObject("labels").unwrapped()).isEqualTo(Map.of("kvasir.io/pool", "n/a,n/b"));
  }

  @Test
  void activePorts_areReadFromEitherName() throws IOException {
    assertThat(pod("10.1.2.3", "\"llm-d.ai/active-ports\": \"8000, 8001\"").activePorts())
        .containsExactly(8000, 8001);
    assertThat(pod("10.1.2.3", "\"inference.networking.k8s.io/active-ports\": \"8000,x\"").activePorts())
        .containsExactly(8000);
  }

  @Test
  void defaults_haveThePodsAddress() throws IOException {
    Config pod = pod("10.1.2.3", "").toPodConfig(OWN, List.of(), DEFAULTS);
    assertThat(pod.getString("events.endpoint")).isEqualTo("tcp://10.1.2.3:5557");
    assertThat(pod.getString("events.topic")).isEqualTo("kv@10.1.2.3");
    assertThat(pod.getStringList("models")).containsExactly("m");
    assertThat(pod("fd00::7", "").toPodConfig(OWN, List.of(), DEFAULTS).getString("events.endpoint"))
        .isEqualTo("tcp://[fd00::7]:5557");
  }

  @Test
  void whatThePodSays_goesFirst() throws IOException {
    Config pod = pod("10.1.2.3", "\"kvasir.io/events-port\": \"6000\"").toPodConfig(OWN, List.of(), DEFAULTS);
    assertThat(pod.getString("events.endpoint")).isEqualTo("tcp://10.1.2.3:6000");
    assertThat(pod.getString("events.topic")).isEqualTo("kv@10.1.2.3");
  }

  @Test
  void portOfGrpc_isWhereItsEngineIsAsked() throws IOException {
    Config pod =
        pod("10.1.2.3", "\"kvasir.io/port\": \"8000\", \"kvasir.io/grpc-port\": \"50051\"")
            .toPodConfig(OWN, List.of(), DEFAULTS);
    URI url = URI.create(pod.getString("url"));
    assertThat(new BarePod(url, pod).address()).isEqualTo(new EngineAddress(url, 50_051));
    Config without = pod("10.1.2.3", "").toPodConfig(OWN, List.of(), DEFAULTS);
    assertThat(new BarePod(url, without).address()).isEqualTo(EngineAddress.of(url));
    Config role = pod("10.1.2.3", "\"kvasir.io/role\": \"decode\"").toPodConfig(OWN, List.of(), DEFAULTS);
    assertThat(new BarePod(url, role).address())
        .isEqualTo(new EngineAddress(url, null, TransferDescription.Role.DECODE));
    Config both = pod("10.1.2.3", "\"kvasir.io/role\": \"both\"").toPodConfig(OWN, List.of(), DEFAULTS);
    assertThat(new BarePod(url, both).address()).isEqualTo(EngineAddress.of(url));
  }

  @ParameterizedTest
  @CsvSource({
    "prefill, prefill", "decode, decode", "encode, encode", "prefill-decode, both", "both, both",
    "encode-prefill-decode, both", "encode-prefill, prefill", "encode-decode, decode"
  })
  void rolesOfLlmd_areUnderstood(String label, String role) throws IOException {
    String labels = "\"llm-d.ai/role\": \"" + label + "\"";
    assertThat(pod("10.1.2.3", "", labels).toPodConfig(OWN, List.of(), DEFAULTS).getString("role")).isEqualTo(role);
  }

  @Test
  void ownRole_goesFirst_andAnUnknownOneIsNone() throws IOException {
    String labels = "\"llm-d.ai/role\": \"decode\"";
    String own = "\"kvasir.io/role\": \"prefill\"";
    String unknown = "\"llm-d.ai/role\": \"cook\"";
    assertThat(pod("10.1.2.3", own, labels).toPodConfig(OWN, List.of(), DEFAULTS).getString("role"))
        .isEqualTo("prefill");
    assertThat(pod("10.1.2.3", "", unknown).toPodConfig(OWN, List.of(), DEFAULTS).hasPath("role")).isFalse();
  }

  private static KubernetesPod pod(String ip, String annotations) throws IOException {
    return pod(ip, annotations, "");
  }

  private static KubernetesPod pod(String ip, String annotations, String labels) throws IOException {
    return new KubernetesPod(
        new ObjectMapper()
            .readTree(
                """
                {"metadata": {"name": "vllm-0", "annotations": {%s}, "labels": {%s}}, "status": {"podIP": "%s"}}
                """
                    .formatted(annotations, labels, ip)));
  }
}
