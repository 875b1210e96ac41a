package io.kvasir.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.gateway.forwarding.ForwardingSettings;
import io.kvasir.gateway.forwarding.ReservedFields;
import io.kvasir.gateway.forwarding.ServedPaths;
import io.kvasir.gateway.forwarding.TrustedProxies;
import io.kvasir.http.client.ScriptedPod;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Which paths of the engines clients reach, over a real socket. */
final class RequestPathsTest {
  private static final String BODY = "{\"model\":\"m\",\"input\":\"x\"}";

  private ScriptedPod pod;
  private TestRouter router;

  @BeforeEach
  void start() throws IOException {
    pod = new ScriptedPod((request, out) -> out.json(200, "{}"));
    router = new TestRouter();
    router.cells.worker("w0", pod.url(), "m");
  }

  @AfterEach
  void stop() {
    router.close();
    pod.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "/v1/../sleep", "/v1/./sleep", "/v1/%2e%2e/sleep", "/v1/%2E./sleep", "/v1/.%2e/sleep", "/v1/..;/sleep",
      "/v1/..;a=b/sleep", "/v1/..%2fsleep", "/v1/..%5csleep", "/v1/..\\sleep", "/v1\\..\\sleep",
      "/v1/%252e%252e/sleep",
      "/v1/%c0%ae%c0%ae/sleep", "/v1/responses/..", "/v1/responses/%2e%2e", "/v1/responses/x/..", "/..", "/.",
      "/v1/responses/a%2f..%2f..%2fsleep", "/v1/responses/a%00", "/v1/responses/a%0d%0aX:1", "/v1/responses/a%",
      "/v1/responses/a%2", "/v1/responses/a%zz", "/v1/responses/\u00e4", "/v1/responses/a{b}", "/v1/responses/a|b",
      "/v1/completions;a", "/v1/responses/a%3b", "/v1/responses/a%3fb", "/v1/responses/a%23b", "/v1/models/../../sleep"
  })
  void targetThatSomeReadAsAnotherPath_isRefused(String target) throws Exception {
    assertThat(status("POST", target)).as(target).isEqualTo(400);
    assertThat(pod.seen).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {
      "/sleep", "/wake_up", "/is_sleeping", "/reset_prefix_cache", "/reset_mm_cache", "/v1/load_lora_adapter",
      "/v1/unload_lora_adapter", "/collective_rpc", "/pause", "/resume", "/scale_elastic_ep", "/flush_cache",
      "/update_weights_from_disk", "/init_weights_update_group", "/load_lora_adapter", "/start_profile",
      "/stop_profile", "/server_info", "/get_server_info", "/abort_request", "/metrics", "/openapi.json", "/docs",
      "/invocations", "/ping",
      "/version", "/load", "/v1/files", "/v1/batches", "/v1/responses/a/b", "/v1/responses/a/cancel/b", "/v1", "/v1/",
      "/", "/v1/completions/x", "/v1/chat", "/V1/completions", "/v1/%63ompletions", "//v1//sleep"
  })
  void administrationAndUnknown_areNotThere(String target) throws Exception {
    for (String method : List.of("POST", "GET", "PUT", "DELETE")) {
      assertThat(status(method, target)).as("%s %s", method, target).isEqualTo(404);
    }
    assertThat(pod.seen).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
      "/v1/completions/,/v1/completions", "//v1///completions,/v1/completions",
      "/v1/completions/?a=1,/v1/completions?a=1",
      "/v1//embeddings//?b=/../,/v1/embeddings?b=/../", "/v1/responses/resp_1/cancel/,/v1/responses/resp_1/cancel",
      "/v1/responses/a~b-c.d,/v1/responses/a~b-c.d", "/tokenize/,/tokenize"
  })
  void targetThatDiffersInForm_isForwardedInNormalForm(String sent, String received) throws Exception {
    assertThat(status("POST", sent)).isEqualTo(200);
    assertThat(pod.next().target()).isEqualTo(received);
  }

  @Test
  void added_paths_passAndTheirNeighboursDoNot() throws Exception {
    router.close();
    router = new TestRouter(TestRouter.EXECUTION, GatewaySettings.defaults().with(new ForwardingSettings(
        new ServedPaths(List.of("/v1/files/*", "/v1/load_lora_adapter")), ReservedFields.none(), TrustedProxies.NONE,
        true)));
    router.cells.worker("w0", pod.url(), "m");

    assertThat(status("GET", "/v1/files/a/b")).isEqualTo(200);
    assertThat(status("POST", "/v1/load_lora_adapter")).isEqualTo(200);
    for (String target : List.of("/v1/files", "/v1/filesystem", "/v1/load_lora_adapter/x", "/v1/unload_lora_adapter")) {
      assertThat(status("POST", target)).as(target).isEqualTo(404);
    }
    assertThat(status("POST", "/v1/files/../load_lora_adapter")).isEqualTo(400);
    assertThat(pod.seen).hasSize(2);
  }

  @Test
  void modelsName_withEncodedSlash_isFound() throws Exception {
    router.cells.worker("w1", pod.url(), "org/model");

    assertThat(status("GET", "/v1/models/org%2Fmodel")).isEqualTo(200);
    assertThat(status("GET", "/v1/models/org/model/")).isEqualTo(200);
    assertThat(status("GET", "/v1/models/%2e%2e%2fsleep")).isEqualTo(404);
  }

  @Test
  void refusal_isInTheApisShape() throws Exception {
    assertThat(router.post("/v1/messages/..;/sleep", BODY).body()).startsWith("{\"type\":\"error\"");
    assertThat(router.post("/v1/load_lora_adapter", BODY).body()).contains("unknown_path", "kvasir.gateway.paths");
  }

  /** The status of an answer to a target that goes over the wire as it is. */
  private int status(String method, String target) throws IOException {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), router.url("/").getPort())) {
      String body = method.equals("POST") || method.equals("PUT") ? BODY : "";
      socket.getOutputStream().write((method + " " + target + " HTTP/1.1\r\nHost: router\r\nConnection: close\r\n"
          + (body.isEmpty() ? "" : "Content-Type: application/json\r\nContent-Length: " + body.length() + "\r\n")
          + "\r\n" + body).getBytes(StandardCharsets.UTF_8));
      String line = new BufferedReader(
          new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8)).readLine();
      return Integer.parseInt(line.split(" ", -1)[1]);
    }
  }
}
