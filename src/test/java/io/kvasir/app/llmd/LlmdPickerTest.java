package io.kvasir.app.llmd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.typesafe.config.Config;
import io.kvasir.app.config.ConfigException;
import io.kvasir.llmd.PickerArgument;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

final class LlmdPickerTest {
  @Test
  void aDeploymentsArguments_becomeSettings() throws ConfigException {
    Config settings =
        picker(
                Map.of(
                    PickerArgument.POOL_NAME, "llama", PickerArgument.POOL_NAMESPACE, "inference",
                    PickerArgument.GRPC_PORT, "9102", PickerArgument.GRPC_HEALTH_PORT, "9103",
                    PickerArgument.METRICS_PORT, "9190", PickerArgument.CERT_PATH, "/certs",
                    PickerArgument.DRAIN_TIMEOUT, "1m30.5s", PickerArgument.ZAP_ENCODER, "json",
                    PickerArgument.V, "5"))
            .config()
            .getConfig("kvasir");
    assertThat(settings.getBoolean("picker.enabled")).isTrue();
    assertThat(settings.getStringList("pods-from.kubernetes.pools.namespaces")).containsExactly("inference");
    assertThat(settings.getString("pods-from.kubernetes.namespace")).isEqualTo("inference");
    assertThat(settings.getInt("picker.port")).isEqualTo(9102);
    assertThat(settings.getInt("picker.health-port")).isEqualTo(9103);
    assertThat(settings.getInt("management.port")).isEqualTo(9190);
    assertThat(settings.getString("picker.tls.certificate")).isEqualTo("/certs/tls.crt");
    assertThat(settings.getString("picker.tls.key")).isEqualTo("/certs/tls.key");
    assertThat(settings.getDuration("gateway.drain-timeout")).hasMillis(90_500);
    assertThat(settings.getString("log.format")).isEqualTo("json");
    assertThat(settings.getString("log.level")).isEqualTo("trace");
  }

  @Test
  void withoutPool_aSelectorNamesThePods() throws ConfigException {
    LlmdPicker picker =
        picker(
            Map.of(
                PickerArgument.ENDPOINT_SELECTOR, "app=vllm,tier in (a,b)",
                PickerArgument.ENDPOINT_TARGET_PORTS, "8000,8001"));
    Config pods = picker.config().getConfig("kvasir.pods-from.kubernetes");
    assertThat(pods.getString("selector")).isEqualTo("app=vllm,tier in (a,b)");
    assertThat(pods.getString("pod.url")).isEqualTo("http://{ip}:8000");
    assertThat(picker.losses()).anyMatch(line -> line.contains("--endpoint-target-ports"));
  }

  @Test
  void theNamespace_isTheProcesssOwn_unlessItIsGiven() throws ConfigException {
    Map<PickerArgument, String> pool = Map.of(PickerArgument.POOL_NAME, "llama");
    String namespaces = "kvasir.pods-from.kubernetes.pools.namespaces";
    assertThat(LlmdPicker.of(pool, Map.of("NAMESPACE", "own")).config().getStringList(namespaces))
        .containsExactly("own");
    assertThat(LlmdPicker.of(pool, Map.of()).config().getStringList(namespaces)).containsExactly("default");
  }

  @Test
  void theFileOfTheArguments_isTranslatedWithThem() throws ConfigException {
    LlmdPicker picker =
        picker(
            Map.of(
                PickerArgument.POOL_NAME, "llama",
                PickerArgument.CONFIG_TEXT,
                "{apiVersion: llm-d.ai/v1alpha1, kind: EndpointPickerConfig, plugins: [{type: context-length-aware},"
                    + " {type: max-score-picker, parameters: {maxNumOfEndpoints: 3}}]}"));
    assertThat(picker.config().getString("kvasir.routing.profile")).isEqualTo("default");
    assertThat(picker.config().getInt("kvasir.picker.fallbacks")).isEqualTo(2);
    assertThat(picker.losses()).anyMatch(line -> line.contains("context-length-aware: no counterpart"));
  }

  @Test
  void allReasons_areTold_thoseOfTheFile_too() {
    Map<PickerArgument, String> given =
        Map.of(
            PickerArgument.GRPC_PORT, "gRPC", PickerArgument.SECURE_SERVING, "perhaps",
            PickerArgument.DRAIN_TIMEOUT, "soon", PickerArgument.POOL_GROUP, "example.org",
            PickerArgument.CONFIG_FILE, "no-such-file.yaml", PickerArgument.CONFIG_TEXT, "{}");
    assertThatThrownBy(() -> picker(given))
        .isInstanceOf(ConfigException.class)
        .hasMessageContainingAll(
            "--grpc-port", "--secure-serving", "--drain-timeout", "--pool-group", "--pool-name", "--endpoint-selector",
            "--config-file: and --config-text are given", "no-such-file.yaml: cannot be read");
  }

  @ParameterizedTest
  @CsvSource({
    "--pool-name=x, picker --pool-name=x",
    "-poolName x, picker --pool-name x",
    "-pool-name=x, picker --pool-name=x",
    "--grpcHealthPort 9003, picker --grpc-health-port 9003",
    "-v 4, picker -v 4",
    "-v=4, picker -v=4",
    "picker --poolName x, picker --pool-name x",
    "picker --config my.conf, picker --config my.conf",
    "--no-such-thing --pool-name=x, picker --no-such-thing --pool-name=x",
    "--no-such-thing, --no-such-thing",
    "--config my.conf, --config my.conf",
    "serve --config my.conf, serve --config my.conf",
    "--help, --help"
  })
  void commandLines_asDeploymentsHaveThem(String written, String understood) {
    assertThat(String.join(" ", LlmdPicker.commandLine(written.split(" ", -1)))).isEqualTo(understood);
  }

  @ParameterizedTest
  @EnumSource(PickerArgument.class)
  void everyArgument_saysWhatBecameOfIt(PickerArgument argument) throws ConfigException {
    Map<PickerArgument, String> given = new EnumMap<>(Map.of(PickerArgument.POOL_NAME, "llama"));
    given.put(argument, valid(argument));
    if (Set.of(PickerArgument.ENDPOINT_SELECTOR, PickerArgument.ENDPOINT_TARGET_PORTS).contains(argument)) {
      given.remove(PickerArgument.POOL_NAME);
      given.put(PickerArgument.ENDPOINT_SELECTOR, "app=vllm");
      given.put(PickerArgument.ENDPOINT_TARGET_PORTS, "8000");
    }
    given.remove(PickerArgument.CONFIG_FILE);
    Set<String> parts = new HashSet<>();
    picker(given).arguments().findings().forEach(finding -> parts.add(finding.part()));
    assertThat(parts).containsAll(given.keySet().stream().map(PickerArgument::flag).toList());
    assertThat(argument.sentence()).isNotBlank().doesNotEndWith(".");
  }

  private static String valid(PickerArgument argument) {
    return switch (argument) {
      case POOL_GROUP -> "inference.networking.k8s.io";
      case CONFIG_TEXT -> "{apiVersion: llm-d.ai/v1, kind: EndpointPickerConfig, plugins: [{type: queue-scorer}]}";
      case DRAIN_TIMEOUT -> "30s";
      default -> argument.isSwitch() ? "true" : "2";
    };
  }

  private static LlmdPicker picker(Map<PickerArgument, String> given) throws ConfigException {
    return LlmdPicker.of(given, Map.of());
  }
}
